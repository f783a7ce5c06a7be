/** Turns the model's output into sentence vectors: the mean over the real tokens, scaled to length 1. */

/** Returns one vector per text. `hidden`: [batch, sequence, dimensions], row-major. `lengths`: number of real tokens of each text. */
export function poolVectors(
  hidden: Float32Array,
  lengths: readonly number[],
  sequence: number,
  dimensions: number,
): Float32Array[] {
  return lengths.map((length, text) => {
    const sum = new Float64Array(dimensions);
    for (let token = 0; token < length; token++) {
      const start = (text * sequence + token) * dimensions;
      for (let d = 0; d < dimensions; d++) sum[d] = (sum[d] ?? 0) + (hidden[start + d] ?? 0);
    }
    return normalize(sum);
  });
}

/** Scales a sum to length 1, which gives the same as scaling the mean. A vector of zeros stays zero. */
function normalize(sum: Float64Array): Float32Array {
  let square = 0;
  for (const value of sum) square += value * value;
  const scale = square > 0 ? 1 / Math.sqrt(square) : 0;
  return Float32Array.from(sum, (value) => value * scale);
}
