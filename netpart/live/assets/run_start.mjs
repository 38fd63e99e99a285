// Starts the page, once all panels are there.

import { run } from "./run_state.mjs";

run.connect();
