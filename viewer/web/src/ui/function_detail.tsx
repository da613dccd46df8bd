// One function: its cost, and whose it was.
import { amount, interval, name as clean, percent } from "../model/format.ts";
import { type FunctionInfo, type FunctionProfile, shownObject } from "../model/functions.ts";
import { change } from "../state/route.ts";
import type { PageView } from "./page_view.ts";
import { DataTable, ShareBar, shareColumns, Swatch } from "./parts.tsx";

export function FunctionDetail({ profile, view, chosen }: { profile: FunctionProfile; view: PageView; chosen: string }) {
  const info = profile.find(chosen);
  if (!info) return <p class="dim small">{clean(chosen.slice(chosen.indexOf(":") + 1), 120)} has no samples in what is chosen, or too few to be listed.</p>;
  const [self, total] = [profile.share(info.self), profile.share(info.total)];
  return (
    <section class="functiondetail" aria-label="The chosen function">
      <header>
        <h3>{info.name}</h3>
        <span class="dim">{shownObject(info.object)}</span>
        <button type="button" class="quiet" onClick={() => change({ fun: null })}>
          Close
        </button>
      </header>
      {info.why && <p class="dim small">It has no name: {info.why}.</p>}
      <p>
        own code <b>{percent(self.share)}</b> <span class="dim">{interval(self.low, self.high)}</span>, with callees <b>{percent(total.share)}</b> <span class="dim">{interval(total.low, total.high)}</span>, {amount(info.total.weight, view.unit)}
      </p>
      {view.plan && <ByOperator profile={profile} view={view} info={info} />}
    </section>
  );
}

interface OwnerRow {
  key: string;
  name: string;
  total: { samples: number; weight: number };
}

function ByOperator({ profile, view, info }: { profile: FunctionProfile; view: PageView; info: FunctionInfo }) {
  if (info.owners.length === 0) return null;
  const rows: OwnerRow[] = info.owners.map(({ owner, total }) => {
    const of = profile.answer.owners[owner];
    return { key: of?.key ?? "", name: clean(of?.name ?? "", 80), total };
  });
  const sum = (key: "samples" | "weight") => rows.reduce((all, row) => all + row.total[key], 0);
  const rest = { samples: info.total.samples - sum("samples"), weight: info.total.weight - sum("weight") };
  if (rest.weight > info.total.weight * 1e-9) rows.push({ key: "", name: "others", total: rest });
  const share = (row: OwnerRow) => profile.shareOfOwner(info, row.total);
  const ownerOf = (row: OwnerRow) => {
    const index = view.owners.find(row.key);
    return index < 0 ? undefined : view.owners.at(index);
  };
  return (
    <DataTable
      caption="The function by operator"
      rows={rows}
      onRow={(row) => {
        const owner = ownerOf(row);
        if (owner?.kind === "operator") change(owner.plan === view.planKey ? { op: owner.id } : { op: owner.id, plan: owner.plan });
      }}
      columns={[
        { name: "operator", value: (row) => row.name, show: (row) => <><Swatch owner={ownerOf(row)} /> {row.name} <span class="dim">{ownerOf(row)?.detail ?? ""}</span></> },
        { name: "of the function", value: (row) => share(row).share, show: (row) => <ShareBar {...share(row)} /> },
        ...shareColumns<OwnerRow>(share),
      ]}
    />
  );
}
