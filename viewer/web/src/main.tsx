import { Component, render, type ComponentChildren } from "preact";
import { openAccess } from "./data/access.ts";
import { followAddress, takeStart } from "./state/route.ts";
import { startTheme } from "./state/theme.ts";
import { App } from "./ui/app.tsx";
import { listenToKeys } from "./ui/keys.ts";
import { Message } from "./ui/parts.tsx";
import "./style.css";

// What a profile holds must not leave an empty page: the error is shown, and the rest of it is one click away.
class Guard extends Component<{ children: ComponentChildren }, { error: string }> {
  override state = { error: "" };
  override componentDidCatch(error: unknown) {
    this.setState({ error: String(error) });
  }
  override render() {
    if (!this.state.error) return this.props.children;
    return <Message kind="error" text={`This page cannot show what it was given (${this.state.error}). "tailor report" shows the same numbers as text.`} />;
  }
}

startTheme();
const start = takeStart();
followAddress();
listenToKeys();
const app = document.getElementById("app")!;

async function show() {
  const access = await openAccess(document);
  // A link that was used already leaves the session that it began then.
  if (start) await access.logIn(start).catch(() => undefined);
  render(
    <Guard>
      <App access={access} />
    </Guard>,
    app,
  );
}

show().catch((error: unknown) => render(<Message kind="error" text={String(error instanceof Error ? error.message : error)} />, app));
