/**
 * Runs the scenarios of the grid (grid.ts) with containers that reach a remote broker, over TCP with a token and over their own SSH bridge.
 */
import { testGrid } from "./grid.ts";

testGrid(["mixed-tcp", "container-only-bridged"]);
