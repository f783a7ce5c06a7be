/** `palace model get` downloads MiniLM and its runtime to this machine, and waits until the broker has loaded the model. */
import { badValue, unavailable, wrongUsage } from "../../base/errors.ts";
import { fetchRuntime, findRuntime } from "../../base/onnxruntime.ts";
import { brokerBox } from "../docker/owner.ts";
import { EXIT_INTERRUPTED, withInterrupt } from "../feeding/feeding.ts";
import { defineVerb } from "../define-verb.ts";
import { isServedByStack } from "../docker/served-by-stack.ts";
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../../wire/client/client.ts";
import type { Config } from "../../config/config.ts";
import { Progress } from "../terminal/progress.ts";

const POLL_MS = 250;
/** Maximum wait until the broker finds the files: it looks every ten seconds. A broker with another cache folder never finds them. */
const SEEN_MAX_MS = 30_000;

export const verb = defineVerb({
  usage: `palace model get

Search by words and meaning works without it. This adds MiniLM, MemPalace's own model: a third score for every search, and the
vectors that MemPalace reads in the public palace. It fetches the model (91 MB, from its hub) and its runtime (75 MB, from npm's registry) into our
cache folder, each checked against its digest; the broker then loads it and embeds what is there. Running it again is harmless.`,
  args: [1, 1],
  place: "anew",
  run: ({ args: [action = ""], config, env, connect, out }) => {
    if (action !== "get") throw wrongUsage(`palace model ${action} is not a command`, "palace model get");
    assertHere(config);
    const progress = new Progress({ silent: out.isJson });
    return withInterrupt(
      async (signal) => {
        const isFetched = findRuntime(config.model.cacheDir) === undefined;
        if (isFetched) {
          out.notice("fetching the runtime of the model (75 MB); the broker fetches the model (91 MB) afterwards ...");
          await fetchRuntime(config.model.cacheDir, { env, signal });
        }
        const model = await untilReady(await connect("palace model"), progress, signal);
        out.answer({ fetched: isFetched, model }, `The broker searches with ${model} too.`);
        return 0;
      },
      { onStop: () => out.notice("stopping; the downloaded files stay") },
    )
      .catch((error: unknown) => {
        if ((error as Error).name === "AbortError") return EXIT_INTERRUPTED;
        throw error;
      })
      .finally(() => progress.end());
  },
});

/** Refuses a download that would be useless. Errors: CONFIG_USAGE if the broker runs elsewhere; CONFIG_BAD_VALUE when offline. */
function assertHere(config: Config): void {
  if (config.endpoint !== undefined || brokerBox(config) !== undefined || isServedByStack(config))
    throw wrongUsage(
      "the model must be on the broker's machine, which is not this one",
      "for the stack, MEMPALACE_MODEL_DIR=DIR in its .env names a folder with the model",
    );
  if (config.model.offline)
    throw badValue("the setting offline forbids the download", "palace config set offline off, then palace restart");
}

/** Returns the model's name when the broker has loaded the model. Errors: STORE_UNAVAILABLE with the broker's reason. */
async function untilReady(client: Client, progress: Progress, signal: AbortSignal): Promise<string> {
  let said = "";
  const deadline = performance.now() + SEEN_MAX_MS;
  for (;;) {
    const { model, modelState, modelDetail } = (await client.call("palace.status", {})).search;
    if (modelState === "ready") return model ?? "the model";
    const isUnseen = modelState === "extra" || isComing(modelDetail);
    if (isUnseen && performance.now() > deadline)
      throw unavailable("the broker does not find the download", "palace restart");
    if (modelState === "failed" || modelState === "mismatch" || (modelState === "missing" && !isComing(modelDetail)))
      throw unavailable(`the broker has no model: ${modelDetail}`, "palace doctor");
    const percent = Number(/^\d+/.exec(modelDetail)?.[0] ?? 0);
    const line =
      modelState === "downloading" ? "the broker downloads the model ..." : "the broker looks for the model ...";
    progress.step(percent, 100, line, line === said ? undefined : line);
    said = line;
    await sleep(POLL_MS, undefined, { signal });
  }
}

/** Returns true if the broker still reports a missing runtime, because it has not looked since we installed the runtime. */
function isComing(detail: string): boolean {
  return detail.startsWith("the model's runtime");
}
