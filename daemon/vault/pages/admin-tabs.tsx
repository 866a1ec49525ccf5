import { Tabs } from "../../pages/elements.tsx";
import { ADMIN } from "./addresses.ts";

export const USERS = `${ADMIN}/users`;
export const PEOPLE = `${ADMIN}/people`;
export const AUDIT = `${ADMIN}/audit`;
export const AI = `${ADMIN}/ai`;
export const JOBS = `${ADMIN}/jobs`;

/** Links to the pages of administrators. */
export function AdminTabs({
  current,
}: {
  current: "overview" | "users" | "people" | "audit" | "ai" | "jobs";
}) {
  return (
    <Tabs
      label="Administration"
      current={current}
      tabs={[
        { key: "overview", text: "Overview", href: ADMIN },
        { key: "users", text: "Accounts", href: USERS },
        { key: "people", text: "People", href: PEOPLE },
        { key: "audit", text: "Audit", href: AUDIT },
        { key: "ai", text: "AI", href: AI },
        { key: "jobs", text: "Jobs", href: JOBS },
      ]}
    />
  );
}
