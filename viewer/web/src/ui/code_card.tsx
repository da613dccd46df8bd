// The IR line by line and the machine code beside it, each with cost and owner. A line is linked with the plan both
// ways: choosing an operator leaves its lines bright, choosing a line chooses its operator.
import { useMemo } from "preact/hooks";
import type { CodeObject, Instruction, Listing, ListingLine } from "../data/types.ts";
import { ownerColor } from "../draw/colors.ts";
import { amount, name as clean, percent } from "../model/format.ts";
import { operatorKey } from "../model/owners.ts";
import { shareOf, type Shared } from "../model/totals.ts";
import { change, route } from "../state/route.ts";
import { theme } from "../state/theme.ts";
import type { Loaded } from "./load.ts";
import type { PageView } from "./page_view.ts";
import { Card, Choice, DataTable, Message, shareColumns } from "./parts.tsx";
import { VirtualList } from "./virtual_list.tsx";

const rowHeight = 19;
const listHeight = 480;

interface Line {
  line: ListingLine;
  cost: Shared | null;
  owners: number[];
  depth: number;
}

// `part`: the listing of what is chosen, for the machine code's costs; the lines' costs are summed up here. Null: nobody
// can be asked for that.
export function CodeCard({ view, listing, part }: { view: PageView; listing: Loaded<Listing>; part: Loaded<Listing> | null }) {
  const text = listing.value;
  const lines = useMemo(() => (text ? linesOf(view, text) : []), [view, text]);
  const only = route.value.state["code"] ?? "hot";
  if (!text) {
    return (
      <Card id="code" title="IR and machine code">
        {listing.loading ? <Message text="Reading the listing…" /> : <Message text={listing.error?.message ?? "There is no listing."} />}
      </Card>
    );
  }
  const chosen = Number(route.value.state["line"] ?? 0);
  const hasAssembly = (text.assembly?.length ?? 0) > 0;
  return (
    <Card
      id="code"
      title={`${text.level === "ir" ? "IR" : clean(text.level, 20)} and machine code`}
      note={clean(text.name, 60)}
      tools={<Choice label="Lines" value={only === "all" ? "all" : "hot"} options={[["hot", "With cost"], ["all", "All lines"]]} onChange={(to) => change({ code: to === "hot" ? null : to })} />}
      table={() => <CodeTable view={view} lines={lines} />}
    >
      <div class={hasAssembly ? "codepanes" : ""}>
        <IrPane view={view} lines={lines} all={only === "all"} chosen={chosen} />
        {hasAssembly && <AssemblyPane view={view} code={codeOf(text, part)} note={view.isPart ? noteOf(part) : ""} lines={lines} chosen={chosen} all={only === "all"} />}
      </div>
      {text.elsewhere.length > 0 && (
        <details class="elsewhere">
          <summary>Costs of this plan on no line: {percent(text.elsewhere.reduce((sum, row) => sum + row.share, 0))} of the whole view</summary>
          <DataTable caption="Costs on no line" rows={text.elsewhere} columns={[{ name: "what", value: (row) => clean(row.name) }, ...shareColumns<(typeof text.elsewhere)[number]>((row) => ({ share: row.share, low: row.share_low, high: row.share_high, samples: row.samples }))]} />
        </details>
      )}
    </Card>
  );
}

// The machine code of the whole view, with the costs of the part once they are known.
function codeOf(listing: Listing, part: Loaded<Listing> | null): CodeObject[] {
  const code = listing.assembly ?? [];
  if (part?.value) {
    const known = new Map((part.value.assembly ?? []).map((object) => [object.code, object]));
    return code.map((object) => known.get(object.code) ?? withoutCost(object));
  }
  return part?.error?.kind === "not_found" ? code.map(withoutCost) : code;
}

function withoutCost(object: CodeObject): CodeObject {
  const instructions = object.instructions.map(({ offset, text, line, lines, quality, function: name }) => ({ offset, text, line, lines, quality, function: name }));
  return { ...object, samples: 0, instructions };
}

function noteOf(part: Loaded<Listing> | null): string {
  if (part?.value || part?.error?.kind === "not_found") return ", cost of the chosen part";
  if (part?.loading) return ", cost of the whole view; reading that of the chosen part…";
  return ", cost of the whole view, not of the chosen part";
}

function linesOf(view: PageView, listing: Listing): Line[] {
  const plan = listing.plan_key ?? view.planKey;
  const byName = new Map((view.plan?.operators ?? []).map((row) => [row.name, view.owners.find(operatorKey(view.planKey, row.id))]));
  const local = view.table !== null;
  return listing.lines.map((line) => {
    const owners = line.operator_keys?.map((key) => view.owners.find(key)) ?? line.operators?.map((each) => byName.get(each) ?? -1) ?? [];
    let cost: Shared | null = null;
    const sum = view.totals.lines.get(`${plan}:${line.line}`);
    if (local) cost = sum ? shareOf(sum, view.totals) : null;
    else if (line.weight) cost = { share: line.share ?? 0, low: line.share_low ?? 0, high: line.share_high ?? 1, weight: line.weight, samples: line.samples ?? 0, kernel: 0, inferred: line.inferred_weight ?? 0, shared: line.shared_weight ?? 0 };
    return { line, cost: line.kind === "instruction" ? cost : null, owners: owners.filter((each) => each >= 0), depth: 0 };
  });
}

// With their function and block, lines that cost something, and three around them.
function interesting(lines: Line[]): (Line | number)[] {
  const keep = new Uint8Array(lines.length);
  lines.forEach(({ cost }, index) => {
    if (!cost) return;
    for (let i = Math.max(0, index - 2); i <= Math.min(lines.length - 1, index + 1); i++) keep[i] = 1;
    for (let i = index; i >= 0; i--) {
      const kind = lines[i]!.line.kind;
      if (kind === "block" || kind === "function") keep[i] = 1;
      if (kind === "function") break;
    }
  });
  const out: (Line | number)[] = [];
  let skipped = 0;
  lines.forEach((line, index) => {
    if (keep[index]) {
      if (skipped) out.push(skipped);
      skipped = 0;
      out.push(line);
    } else skipped++;
  });
  if (skipped) out.push(skipped);
  return out;
}

function IrPane({ view, lines, all, chosen }: { view: PageView; lines: Line[]; all: boolean; chosen: number }) {
  const rows = useMemo(() => (all ? lines : interesting(lines)), [lines, all]);
  const top = lines.reduce((most, { cost }) => Math.max(most, cost?.share ?? 0), 1e-9);
  const at = rows.findIndex((row) => typeof row !== "number" && row.line.line === chosen);
  const hottest = useMemo(() => {
    let best = -1;
    rows.forEach((row, index) => {
      if (typeof row !== "number" && row.cost && (best < 0 || row.cost.share > (rows[best] as Line).cost!.share)) best = index;
    });
    return best;
  }, [view.operator, all]);
  return (
    <div class="pane">
      <h3>IR{all ? "" : ", lines with cost and those around"}</h3>
      <VirtualList
        label="IR lines"
        count={rows.length}
        rowHeight={rowHeight}
        height={listHeight}
        show={at >= 0 ? at : hottest >= 0 ? hottest : null}
        row={(index) => {
          const row = rows[index]!;
          if (typeof row === "number") return <span class="skipped">⋯ {row} lines without cost</span>;
          const { line, cost, owners } = row;
          const mine = view.owner < 0 || owners.includes(view.owner) || line.kind !== "instruction";
          const owner = owners.length > 0 ? view.owners.at(owners[0]!) : undefined;
          const choose = () => {
            const operator = owner?.kind === "operator" && owner.plan === view.planKey ? owner.id : view.operator;
            change({ line: line.line === chosen ? null : line.line, op: line.kind === "instruction" ? operator : view.operator });
          };
          return (
            <button type="button" class={`codeline ${line.kind} ${mine ? "" : "dimmed"} ${line.line === chosen ? "chosen" : ""}`} onClick={choose} title={cost ? `${percent(cost.share)}, ${amount(cost.weight, view.unit)}, ${cost.samples.toFixed(1)} samples${owner ? `; ${owners.map((each) => view.owners.at(each).name).join(", ")}` : ""}` : undefined}>
              <span class="heat" style={{ width: cost ? `${(cost.share / top) * 44}px` : "0", background: owner ? ownerColor(owner, theme.value) : "var(--dim)" }} />
              <span class="cost">{cost ? percent(cost.share) : ""}</span>
              <span class="lineno">{line.line}</span>
              <span class="owner" style={{ background: owner ? ownerColor(owner, theme.value) : "transparent" }} />
              <code>{clean(line.text, 300)}</code>
              <span class="ownername">{cost && owner ? owner.name : ""}{owners.length > 1 ? ` +${owners.length - 1}` : ""}</span>
            </button>
          );
        }}
      />
    </div>
  );
}

type AssemblyRow = { kind: "head"; text: string } | { kind: "skipped"; count: number } | { kind: "instruction"; code: CodeObject; instruction: Instruction };

function AssemblyPane({ view, code, note, lines, chosen, all }: { view: PageView; code: CodeObject[]; note: string; lines: Line[]; chosen: number; all: boolean }) {
  const owners = useMemo(() => new Map(lines.map((line) => [line.line.line, line.owners])), [lines]);
  const rows = useMemo(() => {
    const out: AssemblyRow[] = [];
    for (const object of [...code].sort((a, b) => b.samples - a.samples)) {
      out.push({ kind: "head", text: `${object.name} (${object.tier || "code"}) at ${object.base}, ${object.samples} samples` });
      const keep = all ? null : new Set<number>();
      if (keep) {
        object.instructions.forEach((each, index) => {
          const linked = chosen > 0 && (each.line === chosen || each.lines?.includes(chosen));
          if (each.weight || linked) for (let i = index - 2; i <= index + 1; i++) keep.add(i);
        });
      }
      let skipped = 0;
      const fold = () => {
        if (skipped > 0) out.push({ kind: "skipped", count: skipped });
        skipped = 0;
      };
      object.instructions.forEach((instruction, index) => {
        if (keep && !keep.has(index)) {
          skipped++;
          return;
        }
        fold();
        out.push({ kind: "instruction", code: object, instruction });
      });
      fold();
    }
    return out;
  }, [code, all, chosen]);
  const top = rows.reduce((most, row) => (row.kind === "instruction" ? Math.max(most, row.instruction.share ?? 0) : most), 1e-9);
  const linkedAt = rows.findIndex((row) => row.kind === "instruction" && chosen > 0 && (row.instruction.line === chosen || row.instruction.lines?.includes(chosen)));
  // Without a line, the dearest instruction, of the operator that is chosen.
  const hottest = useMemo(() => {
    let best = -1;
    let share = 0;
    rows.forEach((row, index) => {
      if (row.kind !== "instruction" || (row.instruction.share ?? 0) <= share) return;
      if (view.owner >= 0 && !owners.get(row.instruction.line)?.includes(view.owner)) return;
      best = index;
      share = row.instruction.share ?? 0;
    });
    return best;
  }, [view.owner, rows, owners]);
  const at = linkedAt >= 0 ? linkedAt : hottest;
  return (
    <div class="pane">
      <h3>Machine code{note}</h3>
      <VirtualList
        label="Machine code"
        count={rows.length}
        rowHeight={rowHeight}
        height={listHeight}
        show={at >= 0 ? at : null}
        row={(index) => {
          const row = rows[index]!;
          if (row.kind === "head") return <span class="codehead">{clean(row.text, 160)}</span>;
          if (row.kind === "skipped") return <span class="skipped">⋯ {row.count} instruction{row.count === 1 ? "" : "s"} without cost</span>;
          const { instruction } = row;
          const own = owners.get(instruction.line) ?? [];
          const owner = own.length > 0 ? view.owners.at(own[0]!) : undefined;
          const linked = chosen > 0 && (instruction.line === chosen || !!instruction.lines?.includes(chosen));
          const mine = view.owner < 0 || own.includes(view.owner);
          return (
            <button type="button" class={`codeline ${mine ? "" : "dimmed"} ${linked ? "chosen" : ""}`} onClick={() => instruction.line > 0 && change({ line: instruction.line, op: owner?.kind === "operator" ? owner.id : view.operator })} title={`${instruction.quality}${instruction.line ? `, IR line ${instruction.line}` : ""}`}>
              <span class="heat" style={{ width: `${((instruction.share ?? 0) / top) * 44}px`, background: owner ? ownerColor(owner, theme.value) : "var(--dim)" }} />
              <span class="cost">{instruction.weight ? percent(instruction.share ?? 0) : ""}</span>
              <span class="lineno">{instruction.offset.toString(16)}</span>
              <span class="owner" style={{ background: owner ? ownerColor(owner, theme.value) : "transparent" }} />
              <code>{clean(instruction.text, 160)}</code>
              <span class="ownername">{instruction.line ? `line ${instruction.line}` : instruction.quality}</span>
            </button>
          );
        }}
      />
    </div>
  );
}

function CodeTable({ view, lines }: { view: PageView; lines: Line[] }) {
  return (
    <DataTable
      caption="Lines with cost"
      rows={lines.filter((line) => line.cost)}
      onRow={(row) => change({ line: row.line.line })}
      columns={[
        { name: "line", number: true, value: (row) => row.line.line },
        { name: "text", value: (row) => clean(row.line.text.trim(), 120), show: (row) => <code>{clean(row.line.text.trim(), 120)}</code> },
        { name: "operators", value: (row) => row.owners.map((each) => view.owners.at(each).name).join(", ") },
        ...shareColumns<Line>((row) => row.cost!),
      ]}
    />
  );
}
