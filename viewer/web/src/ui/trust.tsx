// What stands behind the numbers, always in sight: how many samples, what is unattributed, inferred, shared or lost.
import type { ComponentChildren } from "preact";
import type { FileState, Profile } from "../data/types.ts";
import { amount, count, duration, interval, name as clean, percent } from "../model/format.ts";
import { shareOf } from "../model/totals.ts";
import { isPlanless, type PageView } from "./page_view.ts";

export function Trust({ view }: { view: PageView }) {
  const { profile, totals } = view;
  let operators = 0;
  let components = 0;
  let nobody = 0;
  for (const [index, sum] of totals.owners) {
    const kind = view.owners.at(index).kind;
    if (kind === "operator") operators += sum.weight;
    else if (kind === "component") components += sum.weight;
    else nobody += sum.weight;
  }
  const part = (weight: number) => shareOf({ weight, samples: 0, kernel: 0, inferred: 0, shared: 0 }, totals);
  const [ops, comps, none] = [part(operators), part(components), part(nobody)];
  const lost = profile.accounting.lost_share;
  return (
    <aside class="trust" aria-label="What stands behind the numbers">
      {isPlanless(view.profile) ? <WhoseCode kernel={part(totals.kernel)} /> : <WhoseTime ops={ops} comps={comps} none={none} />}
      <Fact name="samples" value={count(totals.samples)} more={totals.effective > 0 && totals.effective < totals.samples * 0.95 ? `worth ${count(totals.effective)}` : amount(totals.weight, view.unit)} bad={totals.effective < 30} title="Intervals are 95 % Wilson score intervals on the effective number of samples" />
      <Share drawn={profile.drawn} unit={view.unit} />
      <Fact name="inferred" value={percent(part(totals.inferred).share)} title="Cost whose instruction's owner was inferred from its neighbours" />
      <Fact name="shared" value={percent(part(totals.shared).share)} title="Cost of code with several owners, split evenly" />
      <Fact name="lost" value={lost > 0 ? percent(lost) : "none"} bad={lost > 0.01} title="Of the whole recording: which executions lost samples is not known" />
      {profile.accounting.late > 0 && <Fact name="late" value={count(profile.accounting.late)} bad />}
      {profile.accounting.throttled > 0 && <Fact name="throttled" value={`${count(profile.accounting.throttled)}×`} more={duration(profile.accounting.gap_ns)} bad />}
      <Damage file={profile.file} />
      {(view.base.table?.leftOut ?? 0) > 0 && <Fact name="left out" value={duration(view.base.table!.leftOut)} title="Of the whole view: time in which Tailor’s own agent waited for messages. The engine did not wait for it" />}
      {profile.only && <Fact name="only" value={clean(profile.only, 60)} />}
    </aside>
  );
}

// Where a share of the executions is sampled, all that is shown is of these.
function Share({ drawn, unit }: { drawn: Profile["drawn"]; unit: string }) {
  if (!drawn || drawn.drawn >= drawn.executions) return null;
  const all = drawn.estimate;
  return <Fact name="executions" value={`${count(drawn.drawn)} of ${count(drawn.executions)} sampled`} more={all ? `all: ${amount(all.weight, unit)} (${amount(all.low, unit)} to ${amount(all.high, unit)})` : undefined} title="A share of the executions is sampled. Behind it stands what all of the whole view cost by that, with its 95 % interval" />;
}

export function Damage({ file }: { file: FileState | undefined }) {
  if (!file) return null;
  const damaged = file.damaged_spots > 0 || file.missing_blocks > 0 || file.malformed_blocks > 0 || file.missing_samples > 0;
  return damaged ? <Fact name="file" value="damaged" more={clean(file.first_problem, 80)} bad /> : null;
}

interface Part {
  share: number;
  low: number;
  high: number;
}

/** Of the time: operators', the engine's own, and nobody's. */
export function WhoseTime({ ops, comps, none }: { ops: Part; comps: Part; none: Part }) {
  return (
    <>
      <span class="split" aria-hidden="true">
        <i class="ops" style={{ width: `${ops.share * 100}%` }} />
        <i class="comps" style={{ width: `${comps.share * 100}%` }} />
        <i class="none" style={{ width: `${none.share * 100}%` }} />
      </span>
      <Fact name="operators" value={percent(ops.share)} more={interval(ops.low, ops.high)} mark="ops" />
      <Fact name="engine" value={percent(comps.share)} more={interval(comps.low, comps.high)} mark="comps" />
      <Fact name="unattributed" value={percent(none.share)} more={interval(none.low, none.high)} mark="none" bad={none.share > 0.05} />
      <span class="gap" />
    </>
  );
}

// Without a plan and an engine's parts nobody could own a sample. That says nothing against the samples.
function WhoseCode({ kernel }: { kernel: Part }) {
  const user = { share: 1 - kernel.share, low: 1 - kernel.high, high: 1 - kernel.low };
  return (
    <>
      <span class="split" aria-hidden="true">
        <i class="ops" style={{ width: `${user.share * 100}%` }} />
        <i class="comps" style={{ width: `${kernel.share * 100}%` }} />
      </span>
      <Fact name="user code" value={percent(user.share)} more={interval(user.low, user.high)} mark="ops" />
      <Fact name="kernel" value={percent(kernel.share)} more={interval(kernel.low, kernel.high)} mark="comps" />
      <Fact name="plan" value="none" title="No engine told a plan, so no operator owns anything: functions say where the time went" />
      <span class="gap" />
    </>
  );
}

export function Fact({ name, value, more, mark, bad, title }: { name: string; value: ComponentChildren; more?: string; mark?: string; bad?: boolean; title?: string }) {
  return (
    <span class={`fact ${bad ? "bad" : ""}`} title={title}>
      {mark && <i class={`key ${mark}`} />}
      <span class="dim">{name}</span> <b>{value}</b> {more && <span class="dim more">{more}</span>}
    </span>
  );
}
