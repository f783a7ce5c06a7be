const IN_FLIGHT = 4;

/** Asks all questions, a few at a time. Returns the answers in the order of `asked`. */
export async function askAll<T, A>(asked: readonly T[], ask: (one: T) => Promise<A>): Promise<A[]> {
  const answers: A[] = [];
  const queue = [...asked.entries()];
  const worker = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) answers[next[0]] = await ask(next[1]);
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
  return answers;
}
