/** Names that clients give themselves, as both sides write them. */
const AGENT_MAX = 64;

/** A person at `palace outcome`. */
export const PERSON = "palace outcome";

/** A name fit for logs: printable, short. */
export function agentName(given: unknown): string {
  const name =
    typeof given === "string"
      ? given
          .replaceAll(/[^\x20-\x7e]/g, "")
          .trim()
          .slice(0, AGENT_MAX)
      : "";
  return name === "" ? "unknown" : name;
}
