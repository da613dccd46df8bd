// Functions, libraries and call trees of what is chosen: as a flame graph, as trees and as tables; against another
// profile, if the reader names one.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Access } from "../data/access.ts";
import type { Execution } from "../data/types.ts";
import { mix, palette, shadeColor } from "../draw/colors.ts";
import { amount, count, interval, name as clean, percent, points } from "../model/format.ts";
import { type CallNode, type Change, compareFunctions, compareTrees, type FunctionChange, type FunctionInfo, type FunctionProfile, pathTo, searchFunctions, searchTree, shownObject, type TreeChanges } from "../model/functions.ts";
import { change, route } from "../state/route.ts";
import { theme } from "../state/theme.ts";
import { CallTree } from "./call_tree.tsx";
import { FunctionDetail } from "./function_detail.tsx";
import { type FunctionsShown, type OpenedFile, openReport, useOther } from "./functions_data.ts";
import { Icicle, type Look } from "./icicle.tsx";
import { useKeys } from "./keys.ts";
import { useLoad } from "./load.ts";
import type { PageView } from "./page_view.ts";
import { Card, Choice, DataTable, Message, shareColumns } from "./parts.tsx";

const kinds = [["flame", "Flame graph"], ["tree", "Call tree"], ["callers", "Callers"], ["list", "Functions"], ["libraries", "Libraries"]] as const;
type Kind = (typeof kinds)[number][0];
const hues = 8; // libraries with a colour of their own

// Somebody wants to search before there is where to type.
let searchSoon = false;
export const searchOnceOpen = () => {
  searchSoon = true;
};

export function FunctionsCard({ access, id, view, shown }: { access: Access; id: string; view: PageView; shown: FunctionsShown }) {
  const state = route.value.state;
  const kind = (kinds.find(([each]) => each === state["fn"])?.[0] ?? "flame") as Kind;
  const find = state["find"] ?? "";
  const field = useRef<HTMLInputElement>(null);
  const [file, setFile] = useState<OpenedFile | null>(null);
  const other = useOther(access, state["with"] ?? "", view.profile.source.name, file);
  useEffect(() => {
    if (searchSoon) field.current?.focus();
    searchSoon = false;
  }, []);
  useKeys((key) => {
    if (key !== "/") return false;
    field.current?.focus();
    field.current?.select();
    return true;
  });
  const { profile } = shown;
  const against = profile && other.profile && state["with"] ? { profile: other.profile, name: other.name } : null;
  return (
    <Card
      id="functions"
      title="Functions"
      note={noteOf(view, shown)}
      tools={
        <>
          <input ref={field} type="search" class="find" aria-label="Search functions and libraries" placeholder="Search  /" value={find} onInput={(event) => change({ find: event.currentTarget.value }, true)} onKeyDown={(event) => { if (event.key === "Escape") { change({ find: null }, true); event.currentTarget.blur(); event.preventDefault(); } }} />
          <CompareWith access={access} id={id} source={view.profile.source.name} file={file} setFile={setFile} />
        </>
      }
    >
      <div class="functionsbar">
        <Choice label="How to show the functions" value={kind} options={kinds.map(([each, text]): [Kind, string] => [each, text])} onChange={(to) => change({ fn: to === "flame" ? null : to })} />
        {profile && find.trim() !== "" && <Found profile={profile} kind={kind} find={find} />}
      </div>
      {shown.error && <Message text={shown.error.message} />}
      {!profile && !shown.error && <Message text="Reading the functions…" />}
      {shown.whole && <p class="dim small">A report file has the functions of the whole view only: what is chosen does not narrow them.</p>}
      {other.error && <Message kind="error" text={other.error} />}
      {profile && <Views profile={profile} view={view} kind={kind} find={find} against={against} />}
      {profile && state["fun"] && <FunctionDetail profile={profile} view={view} chosen={state["fun"]} />}
    </Card>
  );
}

function noteOf(view: PageView, { profile, loading, whole }: FunctionsShown) {
  if (!profile) return "";
  const { samples, weight } = profile.answer.view;
  const whose = view.operatorRow && !whole ? `only ${clean(view.operatorRow.name, 40)}: ` : "";
  const chain = samples > 0 ? profile.answer.with_chain.samples / samples : 0;
  const chains = chain > 0.995 ? "" : chain === 0 ? ", no call chains" : `, ${percent(chain)} with callers`;
  return `${whose}${count(samples)} samples, ${amount(weight, view.unit)}${chains}${loading ? "; reading what is chosen now…" : ""}`;
}

// Of what a search finds: how much of everything it is.
function Found({ profile, kind, find }: { profile: FunctionProfile; kind: Kind; find: string }) {
  const inTree = kind === "flame" || kind === "tree" || kind === "callers";
  const { found, sum } = useMemo(() => searchTree(kind === "callers" ? profile.callers : profile.callees, find), [profile, kind, find]);
  const number = inTree ? found.size : searchFunctions(profile.functions, find).length;
  const share = profile.share(kind === "callers" ? sum : searchTree(profile.callees, find).sum);
  return (
    <span class="found" role="status">
      {number === 0 ? "nothing found" : <>{number} {inTree ? "frames" : "functions"}, <b>{percent(share.share)}</b> of all samples <span class="dim">{interval(share.low, share.high)}</span></>}
    </span>
  );
}

interface Against {
  profile: FunctionProfile;
  name: string;
}

function Views({ profile, view, kind, find, against }: { profile: FunctionProfile; view: PageView; kind: Kind; find: string; against: Against | null }) {
  const choose = (info: FunctionInfo | null) => change({ fun: info ? info.key : null });
  const chosen = route.value.state["fun"] ?? "";
  const root = kind === "callers" ? profile.callers : profile.callees;
  const { found } = useMemo(() => searchTree(root, find), [root, find]);
  if (kind === "tree" || kind === "callers")
    return <CallTree key={kind} profile={profile} root={root} label={kind === "tree" ? "Call tree, from the outermost functions down" : "Functions by their own code, with their callers below"} found={found} chosen={chosen} onChoose={(node) => choose(node.info)} />;
  if (kind === "libraries") return <Libraries profile={profile} view={view} />;
  if (kind === "list") return against ? <Changes profile={profile} against={against} find={find} chosen={chosen} /> : <FunctionTable profile={profile} view={view} find={find} chosen={chosen} choose={choose} />;
  return <FunctionFlame profile={profile} view={view} found={found} searching={find.trim() !== ""} against={against} />;
}

function FunctionTable({ profile, view, find, chosen, choose }: { profile: FunctionProfile; view: PageView; find: string; chosen: string; choose: (info: FunctionInfo) => void }) {
  const rows = searchFunctions(profile.functions, find);
  const rest = profile.answer.more_functions;
  return (
    <>
      <DataTable
        caption="Functions"
        rows={rows}
        onRow={choose}
        selected={(row) => row.key === chosen}
        columns={[
          { name: "function", value: (row) => row.name, show: (row) => <span class={row.named ? "" : "dim"} title={row.why}>{row.name}{row.why ? ` (${row.why})` : ""}</span> },
          { name: "library", value: (row) => shownObject(row.object) },
          { name: "own code", number: true, value: (row) => row.self.weight, show: (row) => percent(profile.share(row.self).share) },
          { name: "95 % interval", number: true, value: (row) => profile.share(row.self).low, show: (row) => interval(profile.share(row.self).low, profile.share(row.self).high) },
          { name: "with callees", title: "Of all samples, those with the function anywhere on the call chain", number: true, value: (row) => row.total.weight, show: (row) => percent(profile.share(row.total).share) },
          { name: view.unitName, number: true, value: (row) => row.self.weight, show: (row) => amount(row.self.weight, view.unit) },
          { name: "samples", number: true, value: (row) => row.self.samples, show: (row) => String(Math.round(row.self.samples * 10) / 10) },
        ]}
      />
      {rest.count > 0 && find.trim() === "" && <p class="dim small">{rest.count} more functions have {percent(profile.share(rest).share)} together.</p>}
    </>
  );
}

function Libraries({ profile, view }: { profile: FunctionProfile; view: PageView }) {
  const rest = profile.answer.more_libraries;
  return (
    <>
      <DataTable
        caption="Libraries"
        rows={profile.libraries}
        onRow={(row) => change({ find: row.name, fn: "list" })}
        columns={[
          { name: "library", value: (row) => row.name, show: (row) => <><span class="swatch" style={{ background: colorOf(profile, row.name === shownObject("") ? "" : row.name) }} /> {row.name}</> },
          ...shareColumns<(typeof profile.libraries)[number]>((row) => profile.share(row.self)),
          { name: view.unitName, number: true, value: (row) => row.self.weight, show: (row) => amount(row.self.weight, view.unit) },
        ]}
      />
      {rest.count > 0 && <p class="dim small">{rest.count} more libraries have {percent(profile.share(rest).share)} together.</p>}
    </>
  );
}

// The dearest libraries have a colour each; the kernel, and what is in no file, is grey.
function colorOf(profile: FunctionProfile, object: string): string {
  const colors = palette(theme.value);
  if (object.startsWith("[") && object !== "[jit]") return colors.component;
  const place = profile.libraries.filter((each) => !each.name.startsWith("[") || each.name === "[jit]").findIndex((each) => each.name === shownObject(object));
  return place < 0 || place >= hues ? mix(colors.component, colors.panel, 0.35) : shadeColor(place, theme.value);
}

function FunctionFlame({ profile, view, found, searching, against }: { profile: FunctionProfile; view: PageView; found: Set<CallNode>; searching: boolean; against: Against | null }) {
  const zoom = route.value.state["fzoom"] ?? "";
  const path = useMemo(() => pathTo(profile.callees, zoom), [profile, zoom]);
  const changes = useMemo(() => (against ? compareTrees(profile, against.profile) : null), [profile, against?.profile]);
  const most = changes ? Math.max(0.01, ...[...changes.of.values()].filter((each) => each.sure).map((each) => Math.abs(each.by))) : 1;
  const colors = palette(theme.value);
  const look = (node: CallNode): Look => {
    const dim = searching && !found.has(node);
    if (node.kind !== "function") return { fill: mix(colors.panel, colors.dim, 0.35), dim };
    if (changes) return { fill: changeColor(changes.of.get(node), most), dim };
    return { fill: colorOf(profile, node.info!.object), hatched: !node.info!.named, dim };
  };
  const top = path[path.length - 1]!;
  return (
    <>
      <nav class="crumbs" aria-label="Zoomed into">
        {path.map((node, index) => (
          <button type="button" key={node.key} disabled={index === path.length - 1} onClick={() => change({ fzoom: node.key || null, fun: node.info?.key })}>
            {clean(node.name, 60)} <span class="dim">{percent(profile.share(node).share)}</span>
          </button>
        ))}
      </nav>
      {changes && <ChangeLegend name={against!.name} />}
      <div class="icicle">
        <Icicle
          top={top}
          look={look}
          label="Flame graph of functions; the call tree has the same content"
          onChoose={(node) => node.kind !== "rest" && change({ fzoom: node.key === zoom ? null : node.key, fun: node.info?.key })}
          tip={(node) => <FlameTip profile={profile} view={view} node={node} change={changes?.of.get(node)} />}
        />
      </div>
      {changes ? <Gone changes={changes} /> : <Legend profile={profile} />}
    </>
  );
}

function FlameTip({ profile, view, node, change }: { profile: FunctionProfile; view: PageView; node: CallNode; change: Change | undefined }) {
  const total = profile.share(node);
  return (
    <>
      <b>{node.name}</b>
      {node.info && <div class="dim">{shownObject(node.info.object)}{node.info.why ? `: ${node.info.why}` : ""}</div>}
      <div>
        {percent(total.share)} <span class="dim">({interval(total.low, total.high)})</span> · {amount(node.weight, view.unit)} · {Math.round(node.samples * 10) / 10} samples
      </div>
      {node.kind === "function" && <div class="dim">own code {percent(profile.share(node.self).share)}</div>}
      {node.kind === "rest" && <div class="dim">The dearest functions have boxes of their own; these are the others.</div>}
      {change && node.kind === "function" && <div>{changeText(change)}</div>}
    </>
  );
}

function Legend({ profile }: { profile: FunctionProfile }) {
  return (
    <p class="legend">
      {profile.libraries.slice(0, hues).map((each) => (
        <span key={each.name}>
          <span class="swatch" style={{ background: colorOf(profile, each.name) }} /> {each.name} <span class="dim">{percent(profile.share(each.self).share)}</span>
        </span>
      ))}
    </p>
  );
}

// More than before is red, less is blue; what chance may explain is grey.
const [more, less] = ["#d55e00", "#0072b2"];

function changeColor(change: Change | undefined, most: number): string {
  const colors = palette(theme.value);
  const plain = mix(colors.panel, colors.dim, 0.3);
  if (!change?.sure) return plain;
  return mix(plain, change.by > 0 ? more : less, 0.35 + 0.65 * Math.min(1, Math.abs(change.by) / most));
}

function changeText({ before, by, known, sure }: Change): string {
  if (!known) return sure ? `${percent(before.high)} at most before: at least ${points(by)}` : "too small to be shown on its own before";
  return `${percent(before.share)} before: ${points(by)}${sure ? "" : ", no more than chance explains"}`;
}

function ChangeLegend({ name }: { name: string }) {
  const plain = mix(palette(theme.value).panel, palette(theme.value).dim, 0.3);
  return (
    <p class="legend">
      <span>Width is cost now; colour is the change against {name}:</span>
      <span><span class="swatch" style={{ background: more }} /> larger share</span>
      <span><span class="swatch" style={{ background: less }} /> smaller share</span>
      <span><span class="swatch" style={{ background: plain }} /> no more than chance explains</span>
    </p>
  );
}

function Gone({ changes }: { changes: TreeChanges }) {
  const rows = changes.gone.filter((each) => each.share.low > 0.001).slice(0, 20);
  if (rows.length === 0) return null;
  return (
    <details class="elsewhere">
      <summary>Not there any more: {rows.length}</summary>
      <DataTable caption="Frames that are not there any more" rows={rows} columns={[{ name: "function", value: (row) => row.path }, ...shareColumns<(typeof rows)[number]>((row) => row.share)]} />
    </details>
  );
}

function Changes({ profile, against, find, chosen }: { profile: FunctionProfile; against: Against; find: string; chosen: string }) {
  const rows = useMemo(() => compareFunctions(profile, against.profile), [profile, against.profile]);
  const wanted = find.trim().toLowerCase();
  const shown = wanted === "" ? rows : rows.filter((row) => `${row.name} ${row.object}`.toLowerCase().includes(wanted));
  return (
    <DataTable
      caption="Functions by their change"
      rows={shown}
      onRow={(row) => change({ fun: row.key })}
      selected={(row) => row.key === chosen}
      columns={[
        { name: "function", value: (row) => row.name },
        { name: "library", value: (row) => shownObject(row.object) },
        { name: "before", number: true, value: (row) => row.change.before.share, show: (row) => (row.change.known ? percent(row.change.before.share) : `≤ ${percent(row.change.before.high)}`) },
        { name: "now", number: true, value: (row) => row.now.share, show: (row) => percent(row.now.share) },
        { name: "change", number: true, value: (row: FunctionChange) => row.change.by, show: (row) => <span class={row.change.sure ? "sure" : "dim"}>{row.change.sure ? "● " : ""}{row.change.known || row.change.sure ? points(row.change.by) : "not known"}</span> },
        { name: "95 % interval before", number: true, value: (row) => row.change.before.low, show: (row) => interval(row.change.before.low, row.change.before.high) },
        { name: "now, 95 %", number: true, value: (row) => row.now.low, show: (row) => interval(row.now.low, row.now.high) },
      ]}
    />
  );
}

// Another execution that the same server or file has, or a report file of the reader's.
function CompareWith({ access, id, source, file, setFile }: { access: Access; id: string; source: string; file: OpenedFile | null; setFile: (file: OpenedFile | null) => void }) {
  const input = useRef<HTMLInputElement>(null);
  const now = route.value.state["with"] ?? "";
  const list = useLoad<{ executions: Execution[] }>(access, access.has("executions") ? "executions" : null);
  const others = (list.value?.executions ?? []).filter((each) => each.id !== id && each.samples > 0 && access.has(`executions/${each.id}/functions`)).slice(0, 50);
  const known = now === "" || now === "file" || others.some((each) => each.id === now);
  const pick = (value: string) => {
    if (value === "file" || value === "another") input.current?.click();
    else change({ with: value || null });
  };
  return (
    <>
      <label>
        <span class="hidden">Compare with</span>
        <select value={now} onChange={(event) => { pick(event.currentTarget.value); event.currentTarget.value = now; }}>
          <option value="">Compare with…</option>
          {!known && <option value={now}>{clean(now, 12)}</option>}
          {now === "file" && file && <option value="file">{file.name}</option>}
          {others.map((each) => (
            <option key={each.id} value={each.id}>
              {clean(each.plan_name || "execution", 40)} {each.id.slice(0, 12)}
            </option>
          ))}
          <option value={now === "file" && file ? "another" : "file"}>A report file…</option>
        </select>
      </label>
      <input
        ref={input}
        class="hidden"
        type="file"
        tabIndex={-1}
        aria-label="A report file to compare with"
        accept=".html,.json"
        onChange={(event) => {
          const picked = event.currentTarget.files?.[0];
          event.currentTarget.value = "";
          if (!picked) return;
          void openReport(picked, source).then((opened) => {
            setFile(opened);
            change({ with: "file" });
          });
        }}
      />
    </>
  );
}

