/** `palace doctor`: everything that must hold for agents to share the palace, one line each, with what to do. */
import { runChecks } from "../report/checks.ts";
import { defineVerb } from "../verb.ts";

const EXIT_UNWELL = 1;

export const verb = defineVerb({
  usage: `palace doctor [--no-start]

Checks Node, the palace's folder, the broker and the door to it, the ledger, the model and the driver, and says what to do
about what is wrong. Exit code 0 when nothing fails; notes and warnings are no failure.

  --no-start   do not start a broker`,
  options: { "no-start": { type: "boolean" } },
  args: [0, 0],
  run: async ({ values, config, out }) => {
    const checks = (await runChecks(config, values["no-start"] !== true)).map((check) => ({
      ...check,
      hint: out.spelled(check.hint),
    }));
    const failed = checks.filter(({ state }) => state === "fail").length;
    if (out.isJson) out.document({ healthy: failed === 0, checks });
    else {
      out.table(
        checks.map(({ name, state, detail, hint }) => [
          state === "fail" ? "FAIL" : state,
          name,
          hint === "" ? detail : `${detail} → ${hint}`,
        ]),
      );
    }
    return failed === 0 ? 0 : EXIT_UNWELL;
  },
});
