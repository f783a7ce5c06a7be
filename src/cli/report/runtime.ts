/**
 * Tells whether the embedding runtime is installed. npm silently leaves out an optional package whose post-install
 * download is refused, and reports success. Imported by checks.ts and verbs/up.ts.
 */

export const RUNTIME_MISSING =
  "onnxruntime-node is not here: its download after installation was refused, and npm left it out; search goes without the model";
export const RUNTIME_HINT =
  "install again without that download, it is not needed: ONNXRUNTIME_NODE_INSTALL=skip npm i -g palace-devbox-*.tgz, then palace restart";

/** Loads it as the broker does. */
export async function hasRuntime(): Promise<boolean> {
  try {
    await import("onnxruntime-node");
    return true;
  } catch {
    return false;
  }
}
