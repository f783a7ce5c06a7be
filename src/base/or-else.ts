/** Returns the value of `read`, or `otherwise` if it throws. Use it only if every failure means the same to the caller. */
export function orElse<T, O>(read: () => T, otherwise: O): T | O {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
