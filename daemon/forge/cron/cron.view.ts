import type { WireCron } from "../../contract/forge/cron.ts";
import { toWireTime, unfilledTime } from "../urls.ts";
import type { TaskStatus } from "./cron.service.ts";

/** Returns a scheduled task. */
export function toCronView({ task, nextAt, record }: TaskStatus): WireCron {
  return {
    name: task.name,
    schedule: task.schedule,
    next: nextAt === undefined ? unfilledTime : toWireTime(nextAt),
    prev: record === undefined ? unfilledTime : toWireTime(record.startedAt),
    exec_times: record?.execTimes ?? 0,
  };
}
