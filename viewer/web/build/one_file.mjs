// Makes dist/report.html of what vite built: the whole page in one file, with a place for the data.
// The file's own policy lets nothing run but this script, by its hash, and load nothing from anywhere.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const dist = join(dirname(fileURLToPath(import.meta.url)), "..", "dist");
const read = (name) => readFileSync(join(dist, name), "utf8");
// Neither may end the element that it stands in.
const script = read("assets/tailor.js").replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
const style = read("assets/index.css").replaceAll("</style", "<\\/style");
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const policy = `default-src 'none'; script-src ${hash(script)}; style-src 'unsafe-inline'; img-src data:`;

const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Tailor</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<div id="app"></div>
<noscript>This page draws profiles with JavaScript. "tailor report" shows the same numbers as text.</noscript>
<script type="application/json" id="tailor-bundle">null</script>
<script type="module">${script}</script>
</body>
</html>
`;
if (html.split('id="tailor-bundle">null</script>').length !== 2) throw new Error("the place of the data is not there once");
writeFileSync(join(dist, "report.html"), html);
