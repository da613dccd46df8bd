"""A Prometheus of Debian's package that runs with the files of deploy/, or with those that an installation has of them."""
import json
import pathlib
import shutil
import subprocess
import urllib.parse
import urllib.request

from free_port import free_port

TOOLS = ("prometheus", "promtool")


def missing():
    return [tool for tool in TOOLS if shutil.which(tool) is None]


class Prometheus:
    """Use as a context manager. `given`: the folder of tailor.yml and its rules. Scrapes and evaluates each second. `times`: what stands
    in the rules, and what takes its place."""

    def __init__(self, folder, given, metrics_port, times=()):
        self.folder, self.port, self.process = pathlib.Path(folder), free_port(), None
        rules = pathlib.Path(given, "tailor.rules.yml").read_text()
        for there, instead in (("interval: 15s", "interval: 1s"), *times):
            rules = rules.replace(there, instead)
        (self.folder / "tailor.rules.yml").write_text(rules)
        text = pathlib.Path(given, "tailor.yml").read_text()
        (self.folder / "tailor.yml").write_text(text.replace("127.0.0.1:19187", f"127.0.0.1:{metrics_port}").replace("15s", "1s"))

    def backfill(self, lines):
        """Series of before, in OpenMetrics. It does not run yet."""
        exposition = self.folder / "before.txt"
        exposition.write_text("\n".join([*lines, "# EOF", ""]))
        subprocess.run(["promtool", "tsdb", "create-blocks-from", "openmetrics", exposition, self.folder / "data"], check=True,
                       stdout=subprocess.DEVNULL)

    def __enter__(self):
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={self.folder}/tailor.yml", f"--storage.tsdb.path={self.folder}/data",
             f"--web.listen-address=127.0.0.1:{self.port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=60)

    def query(self, expression):
        """Its series; OSError where it is not ready yet."""
        url = f"http://127.0.0.1:{self.port}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
        return json.load(urllib.request.urlopen(url, timeout=30))["data"]["result"]
