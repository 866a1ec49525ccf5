import { z } from "zod";
import {
  empty,
  endpoint,
  perAccount,
  vaultAccount,
  vaultAdministrator,
  vaultUser,
} from "../endpoint.ts";
import { detail, line, text, time, uuid } from "./common.ts";

const perMinute = perAccount(100, 60);
const topicParams = z.object({ topic_id: uuid });
const refusals = { 401: detail, 403: detail, 422: detail, 429: detail } as const;

const topicName = line(100).refine((name) => name.trim() !== "", "A topic needs a name");

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

export const listTopics = endpoint({
  name: "vault.topics.list",
  method: "GET",
  path: "/api/topics",
  summary: "List the topics that the caller sees: the own ones and the system's",
  gate: vaultAccount,
  limit: perMinute,
  replies: { 200: z.object({ items: z.array(topic), total: z.int().min(0) }), ...refusals },
});

export const createTopic = endpoint({
  name: "vault.topics.create",
  method: "POST",
  path: "/api/topics",
  summary: "Create a topic of your own; names are compared without case and accents",
  gate: vaultUser,
  limit: perMinute,
  body: newTopic,
  replies: { 201: topic, 409: detail, ...refusals },
});

export const createSystemTopic = endpoint({
  name: "vault.topics.create_system",
  method: "POST",
  path: "/api/admin/topics",
  summary: "Create a topic that every user sees",
  gate: vaultAdministrator,
  body: newTopic,
  replies: { 201: topic, 409: detail, ...refusals },
});

export const updateTopic = endpoint({
  name: "vault.topics.update",
  method: "PATCH",
  path: "/api/topics/:topic_id",
  summary: "Change a topic of your own, or as administrator a system topic",
  gate: vaultAccount,
  limit: perMinute,
  params: topicParams,
  body: z.object({ name: topicName.optional(), description: text(1000).optional() }),
  replies: { 200: topic, 404: detail, 409: detail, ...refusals },
});

export const deleteTopic = endpoint({
  name: "vault.topics.delete",
  method: "DELETE",
  path: "/api/topics/:topic_id",
  summary: "Delete a topic; documents lose it",
  gate: vaultAccount,
  limit: perMinute,
  params: topicParams,
  replies: { 204: empty, 404: detail, ...refusals },
});

/** Operations on topics. */
export const topicEndpoints = {
  listTopics,
  createTopic,
  createSystemTopic,
  updateTopic,
  deleteTopic,
};
