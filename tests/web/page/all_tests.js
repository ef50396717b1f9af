// Every test of the page's pure functions: `node all_tests.js`, or unit_tests.html in a browser.

import './actions_test.js';
import './api_test.js';
import './changes_test.js';
import './chart_lines_test.js';
import './chart_test.js';
import './compared_tables_test.js';
import './curves_load_test.js';
import './decode_test.js';
import './dom_test.js';
import './drawn_dots_test.js';
import './events_test.js';
import './experiments_list_test.js';
import './filter_test.js';
import './graph_state_test.js';
import './graph_test.js';
import './grid_test.js';
import './log_tail_test.js';
import './merged_test.js';
import './model_log_test.js';
import './nodes_test.js';
import './notices_test.js';
import './odd_marks_test.js';
import './palette_test.js';
import './parallel_coordinates_test.js';
import './pareto_chart_test.js';
import './progress_test.js';
import './route_test.js';
import './selected_rows_test.js';
import './stats_test.js';
import './store_test.js';
import './stream_test.js';
import './text_test.js';
import './view_devices_test.js';
import './view_experiments_test.js';
import './view_models_test.js';

import {runAll} from './harness.js';

const result = await runAll();
if (typeof document !== 'undefined') {
  document.getElementById('result').textContent = JSON.stringify(result);
} else {
  for (const {name, message} of result.failed) console.log(`FAILED ${name}\n  ${message}`);
  console.log(`${result.passed} passed, ${result.failed.length} failed`);
  // Timers of the stores under test would keep the process.
  process.exit(result.failed.length > 0 || result.passed === 0 ? 1 : 0);
}
