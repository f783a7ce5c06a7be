/** Runs the grid only in containers: the compose stack, and a devbox without any other container. */
import { testGrid } from "./grid.ts";

testGrid(["container-only-compose", "container-only-alone"]);
