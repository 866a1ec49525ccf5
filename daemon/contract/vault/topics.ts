import { z } from "zod";
import { resource } from "./resource.ts";
import { perAccount, vaultAccount, vaultAdministrator, vaultUser } from "../endpoint.ts";
import { line, text, time, uuid } from "./common.ts";

const perMinute = perAccount(100, 60);
const topicParams = z.object({ topic_id: uuid });

/** The longest name of a topic in characters. */
export const TOPIC_NAME_MAX = 100;

export const topicName = line(TOPIC_NAME_MAX).refine(
  (name) => name.trim() !== "",
  "A topic needs a name",
);

/** A topic. System topics are visible to all users and are changed by administrators. */
export const topic = z.object({
  id: uuid,
  name: z.string(),
  description: z.string(),
  is_system: z.boolean(),
  created_at: time,
  updated_at: time,
});

const newTopic = z.object({ name: topicName, description: text(1000).default("") });

/** Operations on topics. */
export const topicEndpoints = {
  ...resource(
    {
      name: "vault.topics",
      path: "/api/topics",
      shape: topic,
      gate: { read: vaultAccount, change: vaultUser },
      limit: perMinute,
    },
    ({ create, operation }) => ({
      listTopics: operation({
        as: "list",
        method: "GET",
        summary: "List the topics that the caller sees: the own ones and the system's",
        replies: { 200: z.object({ items: z.array(topic), total: z.int().min(0) }) },
      }),
      createTopic: create(
        "Create a topic of your own; names are compared without case and accents",
        newTopic,
        { refuses: [409] },
      ),
    }),
  ),
  ...resource(
    {
      name: "vault.topics",
      path: "/api/admin/topics",
      shape: topic,
      gate: vaultAdministrator,
    },
    ({ create }) => ({
      createSystemTopic: create("Create a topic that every user sees", newTopic, {
        as: "create_system",
        refuses: [409],
      }),
    }),
  ),
  ...resource(
    {
      name: "vault.topics",
      path: "/api/topics/:topic_id",
      params: topicParams,
      gate: vaultAccount,
      limit: perMinute,
    },
    ({ remove, operation }) => ({
      updateTopic: operation({
        as: "update",
        method: "PATCH",
        summary: "Change a topic of your own, or as administrator a system topic",
        body: z.object({ name: topicName.optional(), description: text(1000).optional() }),
        replies: { 200: topic },
        refuses: [409],
      }),
      deleteTopic: remove("Delete a topic; documents lose it"),
    }),
  ),
};
