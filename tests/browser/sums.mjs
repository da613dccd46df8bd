// The page's own sums, without a browser: nothing is lost or counted twice under any choice.
import { expect, finish, near, test } from "./check.mjs";
import { makeBundle } from "./fixture.mjs";
import { flame } from "../../viewer/web/src/model/flame.ts";
import { Owners, operatorKey } from "../../viewer/web/src/model/owners.ts";
import { SampleTable } from "../../viewer/web/src/model/samples.ts";
import { totals } from "../../viewer/web/src/model/totals.ts";
import { wilson } from "../../viewer/web/src/model/wilson.ts";
import { queryText } from "../../viewer/web/src/data/access.ts";
import { formatRoute, parseRoute } from "../../viewer/web/src/state/route_text.ts";

const everything = { from: -Infinity, to: Infinity, tid: null, pipeline: null };
const load = (options) => {
  const { responses } = makeBundle(options);
  const profile = responses["executions/all/profile"];
  const owners = new Owners(profile);
  return { profile, owners, samples: responses["executions/all/samples"], table: new SampleTable(profile, responses["executions/all/samples"], owners) };
};
const sumOf = (map) => [...map.values()].reduce((sum, each) => sum + each.weight, 0);

test("the owners' costs add up to the weight of the view, and are those of the report", () => {
  const { profile, owners, table } = load();
  const all = totals(table, table.sumCells(everything));
  near(all.weight, profile.weight, "weight");
  near(sumOf(all.owners), all.weight, "owners");
  for (const row of profile.plans[0].operators) {
    near(all.owners.get(owners.find(operatorKey("812.5512.7", row.id)))?.weight ?? 0, row.weight, row.name);
  }
  for (const row of profile.plans[0].pipelines) near(all.pipelines.get(`812.5512.7:${row.id}`).weight, row.weight, `pipeline ${row.id}`);
});

test("parts of the time add up to the whole", () => {
  const { table } = load();
  const whole = totals(table, table.sumCells(everything));
  let weight = 0;
  for (let at = 0; at < 10; at++) weight += table.sumCells({ ...everything, from: (table.to / 10) * at, to: (table.to / 10) * (at + 1) }).total;
  near(weight, whole.weight, "ten parts");
});

test("threads add up to the whole, and so do pipelines with what has none", () => {
  const { table } = load();
  const whole = table.sumCells(everything).total;
  near(table.sumCells({ ...everything, tid: 815 }).total + table.sumCells({ ...everything, tid: 816 }).total, whole, "threads");
  let weight = 0;
  for (const pipeline of new Set(table.cells.map((cell) => `${cell.plan}:${cell.pipeline}`))) weight += table.sumCells({ ...everything, pipeline }).total;
  near(weight, whole, "pipelines");
});

test("the timeline holds every sample of its time once", () => {
  const { table } = load();
  const series = table.timeline(everything, table.from, table.to, 77, 1, () => [[0, 1]]);
  near(series[0].reduce((a, b) => a + b, 0), table.sumCells(everything).total, "timeline");
});

test("the flame graph's leaves and own costs add up on every level", () => {
  const { profile, owners, table } = load();
  for (const order of [["pipeline", "operator", "task", "line"], ["operator", "pipeline", "task", "line"]]) {
    const root = flame(profile, owners, table, table.sumCells(everything), new Map(), order);
    near(root.weight, profile.weight, "root");
    const walk = (node) => {
      const below = node.children.reduce((sum, child) => sum + child.weight, 0);
      expect(below <= node.weight * (1 + 1e-9), `${node.name}: children ${below} of ${node.weight}`);
      node.children.forEach(walk);
    };
    walk(root);
    near(root.children.reduce((sum, child) => sum + child.weight, 0), root.weight, "first level");
  }
});

test("what several operators share is split, and its lines stay with no one of them", () => {
  const { profile, samples } = load({ samples: 100 });
  samples.cells[samples.cell[0]] = { source: 0, plan_key: "812.5512.7", pipeline: 3, how: "code", kernel: false, quality: "shared", owner: "plan", levels: { operator: [[4, 0.5], [8, 0.5]], task: [[6, 0.5], [7, 0.5]], ir: [[50, 0.5], [58, 0.5]] }, key: "", wait: "" };
  const owners = new Owners(profile);
  const table = new SampleTable(profile, samples, owners);
  const all = totals(table, table.sumCells(everything));
  near(sumOf(all.owners), all.weight, "owners");
  expect(all.shared > 0, "shared cost is not said");
  const names = [];
  const walk = (node) => {
    if (node.kind === "shared") names.push(node.name);
    node.children.forEach(walk);
  };
  walk(flame(profile, owners, table, table.sumCells(everything), new Map()));
  expect(names.length === 2, `shared code under ${names.length} operators`);
});

test("a cost whose owner the report did not name is still counted", () => {
  const { profile, samples } = load({ samples: 100 });
  samples.cells.push({ source: 0, pipeline: 0, how: "unattributed", kernel: false, quality: "exact", owner: "unattributed", key: "unattributed:of_tomorrow", wait: "" });
  samples.cell[5] = samples.cells.length - 1;
  const owners = new Owners(profile);
  const table = new SampleTable(profile, samples, owners);
  const all = totals(table, table.sumCells(everything));
  near(sumOf(all.owners), profile.weight, "owners");
  expect(owners.find("unattributed:of_tomorrow") >= 0, "no owner of that reason");
});

test("samples of another source are not added", () => {
  const { profile, samples } = load({ samples: 100 });
  samples.sources.push({ index: 3, name: "page-faults", unit: "events", period: 1, precise: true });
  samples.cells.push({ ...samples.cells[0], source: 3 });
  for (const [name, value] of [["time_ns", 5], ["tid", 815], ["weight", 1e12], ["cell", samples.cells.length - 1]]) samples[name].push(value);
  near(new SampleTable(profile, samples, new Owners(profile)).sumCells(everything).total, profile.weight, "weight");
});

test("intervals are those of Wilson's score", () => {
  const [low, high] = wilson(0.2, 50);
  near(low, 0.1124375, "low", 1e-6);
  near(high, 0.3303710, "high", 1e-6);
  expect(wilson(0, 0).join() === "0,1", "no samples");
});

test("every state survives its address, and hostile addresses are read", () => {
  const route = { page: "execution", id: "3f2a", state: { op: "4", from: "1", to: "2", pipe: "812.5512.7:3", tab: "code", q: "a&b=c #?" } };
  expect(JSON.stringify(parseRoute(formatRoute(route))) === JSON.stringify(route), formatRoute(route));
  for (const hash of ["", "#", "#/execution/", "#/execution/%E0%A4%A", "#/x/../../y?=&=1", `#/execution/${"a".repeat(100000)}`]) {
    expect(parseRoute(hash).id.length <= 400, hash);
  }
  expect(queryText({ b: 1, a: "x y", c: undefined }) === "a=x%20y&b=1", "query");
});

process.exit(await finish());
