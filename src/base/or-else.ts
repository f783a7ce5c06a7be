/** Returns the value of `read`, or `otherwise` if `read` throws. Use it only if the kind of failure does not matter. */
export function orElse<T, O>(read: () => T, otherwise: O): T | O {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
