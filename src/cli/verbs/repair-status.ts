/** `palace repair status` reports on ledger and public palace, read-only. */
import type { CollectionHealth, PalaceHealthReport } from "../../protocol/spec.ts";
import { plural } from "../terminal/output.ts";
import { defineVerb } from "../define-verb.ts";

type Difference = NonNullable<PalaceHealthReport["palace"]["difference"]>;

const EXIT_UNWELL = 1;
const TIMEOUT_MS = 10 * 60_000;

export const verb = defineVerb({
  usage: `palace repair status

Looks through ledger and public palace without changing anything: counts on both sides, what each index holds of them, damaged
indexes, and the differences between ledger and palace. Exit code 1 when \`palace repair\` would fix something.`,
  run: async ({ connect, out }) => {
    const client = await connect("palace repair-status");
    const report = await client.call("palace.health", {}, { timeoutMs: TIMEOUT_MS });
    const faults = faultsOf(report);
    out.answer({ ...report, faults }, () => {
      out.table(rowsOf(report));
      for (const fault of faults) out.text(`! ${fault}`);
      out.text(out.spelled(faults.length === 0 ? wellBut(report) : "To repair it: palace repair"));
    });
    return faults.length === 0 ? 0 : EXIT_UNWELL;
  },
});

/** Lists what a repair would fix. Work in progress is not a fault. */
function faultsOf({ ledger, palace }: PalaceHealthReport): string[] {
  const faults: string[] = [];
  const check = (isWell: boolean, fault: string): void => void (isWell || faults.push(fault));
  check(ledger.integrity === "ok", `the ledger's file: ${ledger.integrity}; a repair does not help, restore a backup`);
  check(
    ledger.counted === ledger.drawers,
    `the counts of wings and rooms sum to ${ledger.counted}, but there are ${ledger.drawers} drawers`,
  );
  check(ledger.words === ledger.drawers, `the index of words holds ${ledger.words} of ${ledger.drawers} drawers`);
  check(ledger.codes === ledger.vectors, `${ledger.codes} short forms for ${ledger.vectors} vectors`);
  check(ledger.forgotten === 0, `${ledger.forgotten} drawers have no vector and are not queued for one`);
  check(["ok", "absent"].includes(palace.integrity), `the palace's file: ${palace.integrity}`);
  for (const { name, segment, why, unindexed, isMarkPoisoned, space } of palace.collections) {
    check(segment !== "torn", `the index of ${name} is damaged: ${why}`);
    check(unindexed === 0, `${unindexed} rows of ${name} have no vector in its index`);
    check(!isMarkPoisoned, `a counter of ${name} is so high that new rows do not reach its index`);
    check(
      space === null || space === "cosine",
      `the index of ${name} uses the distance ${space}, not the cosine: MemPalace's similarities are wrong`,
    );
  }
  const { difference } = palace;
  check((difference?.missing ?? 0) === 0, `${difference?.missing ?? 0} drawers are missing in the palace`);
  check((difference?.changed ?? 0) === 0, `${difference?.changed ?? 0} drawers differ in the palace`);
  return faults;
}

/** Returns the verdict for a palace without faults. It mentions drawers without a vector, because they may wait forever for a model. */
function wellBut({ ledger: { pending } }: PalaceHealthReport): string {
  if (pending === 0) return "All is well.";
  return `Nothing to repair. ${plural(pending, "drawer")} ${pending === 1 ? "waits" : "wait"} for a vector: palace doctor says what for.`;
}

function rowsOf({ ledger, palace }: PalaceHealthReport): [string, string][] {
  const { difference } = palace;
  return [
    [
      "ledger",
      `${plural(ledger.drawers, "drawer")}, ${ledger.words} in the index of words, ${plural(ledger.vectors, "vector")}, ${ledger.pending} waiting for one; its file: ${ledger.integrity}`,
    ],
    ["palace", `${palace.folder}: ${palace.integrity === "absent" ? "none there yet" : palace.integrity}`],
    ...palace.collections.map((one): [string, string] => [one.name, describe(one)]),
    ...(difference === null ? [] : [["difference", describeDifference(difference)] as [string, string]]),
    ...(palace.putAside.length === 0 ? [] : [["put aside", palace.putAside.join(", ")] as [string, string]]),
  ];
}

function describe({ rows, indexed, queued, segment, state }: CollectionHealth): string {
  const index = { whole: `${indexed} in its index`, absent: "no index yet", torn: "its index is damaged" }[segment];
  if (rows + queued === 0 && segment === "absent") return "empty";
  return `${plural(rows, "row")}, ${index}, ${queued} in its queue${state === "DIVERGED" ? "; far apart" : ""}`;
}

function describeDifference({ missing, changed, foreign, awaited }: Difference): string {
  if (missing + changed + foreign + awaited === 0) return "none: ledger and palace have the same drawers";
  return `${missing} missing, ${changed} changed, ${foreign} of others, ${awaited} not written yet`;
}
