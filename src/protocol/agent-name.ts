/** Cleans the name that a client gives itself. */
const AGENT_MAX = 64;

/** Agent name of the command `palace outcome`. */
export const PERSON = "palace outcome";

export const NAMELESS = "unknown";

/** Returns the name cut to 64 printable ASCII characters. */
export function agentName(given: unknown): string {
  const name =
    typeof given === "string"
      ? given
          .replaceAll(/[^\x20-\x7e]/g, "")
          .trim()
          .slice(0, AGENT_MAX)
      : "";
  return name === "" ? NAMELESS : name;
}
