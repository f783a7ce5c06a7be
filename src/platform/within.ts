/** Bounded waiting. */

/** The work's value, or undefined when it takes longer; the work then continues unobserved. Errors: the work's. */
export async function within<T>(work: Promise<T> | undefined, timeoutMs: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => (timer = setTimeout(() => resolve(undefined), timeoutMs)));
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
