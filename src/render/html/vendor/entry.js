export { default as flamegraph } from "d3-flame-graph";
export { select } from "d3-selection";
