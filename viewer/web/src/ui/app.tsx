// The frame around the pages.
import { useEffect, useRef, useState } from "preact/hooks";
import { type Access, DataError } from "../data/access.ts";
import type { Status } from "../data/types.ts";
import { go, link, route } from "../state/route.ts";
import { theme, toggleTheme } from "../state/theme.ts";
import { ComparePage } from "./compare_page.tsx";
import { ExecutionPage } from "./execution_page.tsx";
import { clearAll } from "./filters.tsx";
import { FingerprintPage } from "./fingerprint_page.tsx";
import { keyHelp, useKeys } from "./keys.ts";
import { OverviewPage } from "./overview_page.tsx";

export function App({ access }: { access: Access }) {
  const { page, id } = route.value;
  const [help, setHelp] = useState(false);
  const [login, setLogin] = useState(false);
  const [round, setRound] = useState(0);
  useEffect(() => {
    if (access.isFile) return;
    access.get<Status>("status").catch((error: unknown) => setLogin(error instanceof DataError && error.kind === "login"));
  }, [access, round]);
  useKeys((key) => {
    if (key === "?") setHelp(!help);
    else if (key === "t") toggleTheme();
    else if (key === "Escape") {
      if (help) setHelp(false);
      else clearAll();
    } else return false;
    return true;
  });
  if (access.isFile && page === "overview" && id === "" && access.firstId !== "" && !location.hash) {
    go({ page: "execution", id: access.firstId, state: {} }, true);
  }
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById("main")?.scrollIntoView(); }}>
        Skip to the content
      </a>
      <header class="top">
        <a class="logo" href={access.isFile ? link("execution", access.firstId) : link("overview")}>
          <svg width="20" height="20" viewBox="0 0 20 20" aria-hidden="true">
            <rect x="1" y="3" width="18" height="3.4" rx="1.2" class="l1" />
            <rect x="1" y="8.3" width="11" height="3.4" rx="1.2" class="l2" />
            <rect x="1" y="13.6" width="6" height="3.4" rx="1.2" class="l3" />
            <path d="M16 9v7m-2.4-2.2L16 16.2l2.4-2.4" class="arrow" />
          </svg>
          Tailor
        </a>
        <nav aria-label="Pages">
          <a href={link("overview")} aria-current={page === "overview" ? "page" : undefined}>
            {access.isFile ? "Executions" : "Overview"}
          </a>
          {!access.isFile && (
            <a href={link("execution", "last")} aria-current={page === "execution" && id === "last" ? "page" : undefined}>
              Newest
            </a>
          )}
          {page === "execution" && id !== "last" && <span aria-current="page">Execution</span>}
          {page === "compare" && <span aria-current="page">Compare</span>}
          {page === "fingerprint" && <span aria-current="page">Query</span>}
        </nav>
        <span class="tools">
          <button type="button" class="quiet" onClick={toggleTheme} title="Key t">
            {theme.value === "dark" ? "Light" : "Dark"}
          </button>
          <button type="button" class="quiet" onClick={() => setHelp(true)} title="Key ?">
            Keys
          </button>
        </span>
      </header>
      {login ? (
        <Login access={access} done={() => { setLogin(false); setRound(round + 1); }} />
      ) : (
        <div class="page" key={`${page} ${id} ${round}`}>
          {page === "overview" && <OverviewPage access={access} />}
          {page === "execution" && <ExecutionPage access={access} id={id} />}
          {page === "compare" && <ComparePage access={access} />}
          {page === "fingerprint" && <FingerprintPage access={access} id={id} />}
        </div>
      )}
      {help && <Help close={() => setHelp(false)} />}
    </>
  );
}

function Help({ close }: { close: () => void }) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => ref.current?.showModal(), []);
  return (
    <dialog ref={ref} onClose={close} aria-labelledby="help-title">
      <h2 id="help-title">Keys</h2>
      <dl class="keys">
        {keyHelp.map(([key, text], index) => (
          <div key={index}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      <button type="button" onClick={close}>
        Close
      </button>
    </dialog>
  );
}

function Login({ access, done }: { access: Access; done: () => void }) {
  const [error, setError] = useState("");
  return (
    <form
      class="card login"
      onSubmit={(event) => {
        event.preventDefault();
        const token = new FormData(event.currentTarget).get("token");
        access.logIn(String(token)).then(done, (reason: Error) => setError(reason.message));
      }}
    >
      <h1>This server asks for a token</h1>
      <p class="dim">A link of "tailor web" works once, within ten minutes: run it again for a new one.</p>
      <label>
        Token <input name="token" type="password" autocomplete="off" required />
      </label>
      <button type="submit">Continue</button>
      {error && <p role="alert" class="message error">{error}</p>}
    </form>
  );
}
