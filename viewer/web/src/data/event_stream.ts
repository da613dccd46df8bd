// Server-sent events (HTML standard, 9.2), read by fetch: the browser's own reader cannot send the header that says who
// asks.
const RETRY_MS = 3000;

// Takes whole events off the front of the text. What is left is the beginning of the next one.
export function takeEvents(text: string, hear: (name: string, data: string) => void): string {
  for (;;) {
    const end = text.indexOf("\n\n");
    if (end < 0) return text;
    let name = "";
    const data: string[] = [];
    for (const line of text.slice(0, end).split("\n")) {
      const field = /^(event|data): ?(.*)$/s.exec(line);
      if (field?.[1] === "event") name = field[2]!;
      if (field?.[1] === "data") data.push(field[2]!);
    }
    if (data.length > 0) hear(name, data.join("\n"));
    text = text.slice(end + 2);
  }
}

async function readEvents(response: Response, hear: (name: string, data: unknown) => void) {
  if (!response.ok || response.body === null) throw new Error(`the server answered ${response.status}`);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text = takeEvents(text + value, (name, data) => hear(name, JSON.parse(data)));
  }
}

// Reads until the returned function is called. A stream that ends is opened again, and `down` is told.
export function followEvents(open: (signal: AbortSignal) => Promise<Response>, hear: (name: string, data: unknown) => void, down: () => void): () => void {
  const stop = new AbortController();
  const follow = async () => {
    try {
      await readEvents(await open(stop.signal), hear);
    } catch {
      // Told below, like an end that the server made.
    }
    if (stop.signal.aborted) return;
    down();
    setTimeout(follow, RETRY_MS);
  };
  void follow();
  return () => stop.abort();
}
