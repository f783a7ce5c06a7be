/** Finds the error in the output of a failed `docker compose`, and suggests a next command. */
import { quoted } from "../base/shell-word.ts";
import { PalaceError } from "../base/errors.ts";
import { composeCommand, type Place } from "./compose.ts";

/** Maximum characters of an error's last line; the rest is cut off. */
const SHOWN_MAX = 300;

/** Matches the message about a failed container. Compose separates the parts of a container's name by `-`, older versions by `_`. */
const FAILED_BOX = /container \S+?[-_](chroma|broker|devbox|devbox-bridged)[-_]\d+ (?:is unhealthy|exited)/;

const RULE = /^-+$/;

type Known = readonly [pattern: RegExp, hint: (place: Place) => string];

/** Hints for known errors; the first matching pattern is used. */
const KNOWN: readonly Known[] = [
  [
    // Docker pulls images itself and does not use the certificates that we give to a build.
    /failed to (?:resolve|do request)[^\n]*(?:x509|certificate)/,
    () => "add the proxy's certificate to the engine's machine and restart Docker; it pulls images itself",
  ],
  [
    /SELF_SIGNED_CERT|UNABLE_TO_(?:GET_ISSUER|VERIFY_LEAF)|CERT_(?:UNTRUSTED|HAS_EXPIRED|NOT_YET_VALID)|unable to (?:get|verify)[^\n]*certificate|certificate (?:verify failed|verification failed|signed by unknown)|self.signed certificate/i,
    () => "a proxy inspects TLS: set EXTRA_CA_CERTS=/path/to/its-certificates.pem, then type the same command again",
  ],
  [
    /Cannot connect to the Docker daemon|error during connect|docker daemon is not running/i,
    () => "start Docker again (docker info says what is wrong), then the same command again",
  ],
  [/no space left on device/i, () => "free disk space: docker system df; docker builder prune"],
  [
    /(?:port is already allocated|address already in use)/,
    () => "another program has this port: docker ps shows containers; change the port, then the same command again",
  ],
  [
    /invalid (?:volume specification|mount config|spec)|error mounting|not a directory|mounts denied|Mounts denied|bind source path does not exist/,
    ({ root }) =>
      `check the paths in ${quoted(`${root}/.env`)} and your environment: DEVBOX_WORKSPACE, MEMPALACE_MODEL_DIR, EXTRA_CA_CERTS, SSH_AUTH_SOCK`,
  ],
  [
    /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|Temporary failure (?:in name resolution|resolving)|Could not resolve|i\/o timeout|no such host/,
    () => "a download failed: check the network, and HTTP_PROXY and HTTPS_PROXY if you are behind a proxy",
  ],
  [
    /manifest unknown|pull access denied|failed to resolve source metadata/,
    () => "check the image's name (BASE_IMAGE, and `image:` in your override), and whether docker pull gets it",
  ],
];

/** Returns the lines of the error that compose printed last. For a build: the output of the failing step, and the build's last line. */
export function lastError(said: string): string[] {
  const lines = said.trimEnd().split("\n");
  const last = lines.at(-1)?.trim() ?? "";
  if (!/failed to solve|^ERROR: |^target /.test(last)) return last === "" ? [] : [last.slice(0, SHOWN_MAX)];
  // Under the title of a failed step, BuildKit repeats the end of the step's output, between two lines of dashes.
  const from = lines.findLastIndex((line, at) => RULE.test(line) && /^ ?> /.test(lines[at + 1] ?? ""));
  const to = lines.findIndex((line, at) => at > from && RULE.test(line));
  const step = from === -1 ? [] : lines.slice(from + 2, to === -1 ? undefined : to);
  // The failing command is part of our Dockerfile, so the user does not need its text.
  const end = last.replace(/process ".*" did not complete/, "a command of the build did not complete");
  return [...step.map((line) => line.replace(/^\d+\.\d+ /, "").trim()), end.slice(0, SHOWN_MAX)].filter(Boolean);
}

/** Returns advice for the user, often a command. `said`: end of a failed compose's output. */
function failureHint(said: string, place: Place): string {
  const error = lastError(said).join("\n");
  const known = KNOWN.find(([pattern]) => pattern.test(error));
  if (known !== undefined) return known[1](place);
  const [, service] = FAILED_BOX.exec(error) ?? [];
  return [...composeCommand(place).map(quoted), "logs", ...(service === undefined ? [] : [service])].join(" ");
}

/** Makes the error of a failed compose command. `said` is empty on a terminal, where compose has printed it. */
export function composeFailed(what: string, said: string, place: Place): PalaceError {
  const lines = lastError(said);
  const step = lines.slice(0, -1);
  const line = step.find((one) => /\b(?:error|fatal|failed|E:)/i.test(one)) ?? step.at(-1) ?? lines.at(-1);
  const why = line === undefined ? "; the lines above say why" : `: ${line}`;
  return new PalaceError("BROKER_START_FAILED", `${what}${why}`, failureHint(said, place));
}
