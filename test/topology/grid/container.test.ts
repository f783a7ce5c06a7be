/** Runs the scenarios of the grid (grid.ts) in containers only: in the compose stack, and in a devbox without any other container. */
import { testGrid } from "./grid.ts";

testGrid(["container-only-compose", "container-only-alone"]);
