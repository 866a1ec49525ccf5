import type { Examples } from "./examples.ts";

/** Examples of the hooks of organizations and of the signed-in user. */
export const examples: Examples = {
  "org hook list": [
    ["List the hooks of an organization", "croft org hook list guild"],
    ["Print their addresses", "croft org hook list guild --jq '.[].config.url'"],
  ],
  "org hook view": [
    ["Show a hook", "croft org hook view guild 3"],
    ["Print its events", "croft org hook view guild 3 --jq '.events | join(\",\")'"],
  ],
  "org hook create": [
    ["Deliver pushes", "croft org hook create guild https://ci.example.org/hook --event push"],
    [
      "Deliver ends of workflow runs",
      "croft org hook create guild https://ci.example.org/hook --event workflow_run",
    ],
  ],
  "org hook edit": [
    [
      "Deliver to another address",
      "croft org hook edit guild 3 --target https://ci.example.org/new",
    ],
    ["Stop deliveries", "croft org hook edit guild 3 --active false"],
  ],
  "org hook delete": [
    ["Delete a hook", "croft org hook delete guild 3 --yes"],
    ["Show the request only", "croft org hook delete guild 3 --dry-run"],
  ],
  "org hook delivery list": [
    ["List the deliveries of a hook", "croft org hook delivery list guild 3"],
    ["List the failed ones", "croft org hook delivery list guild 3 --state failed"],
  ],
  "org hook delivery view": [
    ["Show a delivery", "croft org hook delivery view guild 3 12"],
    ["Print it as JSON", "croft org hook delivery view guild 3 12 --json"],
  ],
  "org hook delivery redeliver": [
    ["Send a delivery again", "croft org hook delivery redeliver guild 3 12"],
    ["Show the request only", "croft org hook delivery redeliver guild 3 12 --dry-run"],
  ],
  "account hook list": [
    ["List the hooks of your own repositories", "croft account hook list"],
    ["Print their addresses", "croft account hook list --jq '.[].config.url'"],
  ],
  "account hook view": [
    ["Show a hook", "croft account hook view 3"],
    ["Print its events", "croft account hook view 3 --jq '.events | join(\",\")'"],
  ],
  "account hook create": [
    ["Deliver pushes", "croft account hook create https://ci.example.org/hook --event push"],
    [
      "Deliver ends of workflow runs",
      "croft account hook create https://ci.example.org/hook --event workflow_run",
    ],
  ],
  "account hook edit": [
    ["Deliver to another address", "croft account hook edit 3 --target https://ci.example.org/new"],
    ["Stop deliveries", "croft account hook edit 3 --active false"],
  ],
  "account hook delete": [
    ["Delete a hook", "croft account hook delete 3 --yes"],
    ["Show the request only", "croft account hook delete 3 --dry-run"],
  ],
  "account hook delivery list": [
    ["List the deliveries of a hook", "croft account hook delivery list 3"],
    ["List the failed ones", "croft account hook delivery list 3 --state failed"],
  ],
  "account hook delivery view": [
    ["Show a delivery", "croft account hook delivery view 3 12"],
    ["Print it as JSON", "croft account hook delivery view 3 12 --json"],
  ],
  "account hook delivery redeliver": [
    ["Send a delivery again", "croft account hook delivery redeliver 3 12"],
    ["Show the request only", "croft account hook delivery redeliver 3 12 --dry-run"],
  ],
};
