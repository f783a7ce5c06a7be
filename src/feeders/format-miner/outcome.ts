/** Upstream's codes for the reasons why an office document has no text. Source: palace.md 5.6 and the format_miner module of 3.11. */

export const OUTCOMES = [
  ...(["too_large", "cloud_only", "empty", "encrypted", "permission", "broken_symlink", "unrecognized"] as const),
  ...(["extraction_error", "missing_format_deps", "network_timeout", "unreadable"] as const),
] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** Outcomes whose cause may go away. The miner does not record them, so the next run tries the file again. */
export const PASSING: ReadonlySet<Outcome> = new Set([
  "missing_format_deps",
  "network_timeout",
  "permission",
  "unreadable",
]);

/** Error that ends a conversion. The user sees its message. */
export class Unconverted extends Error {
  readonly outcome: Outcome;

  constructor(outcome: Outcome, message: string, options?: ErrorOptions) {
    super(message, options);
    this.outcome = outcome;
  }
}

const OF_ERRNO: Readonly<Record<string, Outcome>> = {
  EACCES: "permission",
  EPERM: "permission",
  ETIMEDOUT: "network_timeout",
  ESTALE: "network_timeout",
  EHOSTDOWN: "network_timeout",
  ENOENT: "unreadable",
};

export function ofErrno(error: unknown): Unconverted {
  const code = (error as NodeJS.ErrnoException | null)?.code ?? "";
  const outcome = Object.hasOwn(OF_ERRNO, code) ? OF_ERRNO[code] : undefined;
  const what = code === "ENOENT" ? "vanished during the run" : `cannot be read (${code === "" ? String(error) : code})`;
  return new Unconverted(outcome ?? "unreadable", what, { cause: error });
}
