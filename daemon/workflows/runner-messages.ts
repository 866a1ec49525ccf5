import { create, createFileRegistry, type Message } from "@bufbuild/protobuf";
import type { GenMessage, GenService } from "@bufbuild/protobuf/codegenv2";
import type { JsonObject } from "@bufbuild/protobuf";
import {
  type DescriptorProto,
  DescriptorProtoSchema,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
  FieldDescriptorProtoSchema,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
  FileDescriptorProtoSchema,
  type Timestamp,
} from "@bufbuild/protobuf/wkt";

// Messages of the runner protocol. Field numbers are the wire format.

/** The result of a task, job or step; the numbers are those of the wire. */
export const Result = {
  unspecified: 0,
  success: 1,
  failure: 2,
  cancelled: 3,
  skipped: 4,
} as const;
type Result = number;

export type WireRunner = Message<"runner.v1.Runner"> & {
  id: bigint;
  uuid: string;
  token: string;
  name: string;
  status: number;
  version: string;
  labels: string[];
  ephemeral: boolean;
};
export type RegisterRequest = Message<"runner.v1.RegisterRequest"> & {
  name: string;
  token: string;
  agentLabels: string[];
  customLabels: string[];
  version: string;
  labels: string[];
  ephemeral: boolean;
  capabilities: string[];
};
type RegisterResponse = Message<"runner.v1.RegisterResponse"> & { runner?: WireRunner };
type DeclareRequest = Message<"runner.v1.DeclareRequest"> & {
  version: string;
  labels: string[];
  capabilities: string[];
};
type DeclareResponse = Message<"runner.v1.DeclareResponse"> & { runner?: WireRunner };
type FetchTaskRequest = Message<"runner.v1.FetchTaskRequest"> & { tasksVersion: bigint };
type FetchTaskResponse = Message<"runner.v1.FetchTaskResponse"> & {
  task?: WireTask;
  tasksVersion: bigint;
};
type TaskNeed = Message<"runner.v1.TaskNeed"> & {
  outputs: Record<string, string>;
  result: Result;
};
export type WireTask = Message<"runner.v1.Task"> & {
  id: bigint;
  workflowPayload: Uint8Array;
  context?: JsonObject;
  secrets: Record<string, string>;
  machine: string;
  needs: Record<string, TaskNeed>;
  vars: Record<string, string>;
};
type StepState = Message<"runner.v1.StepState"> & {
  id: bigint;
  result: Result;
  startedAt?: Timestamp;
  stoppedAt?: Timestamp;
  logIndex: bigint;
  logLength: bigint;
};
export type TaskState = Message<"runner.v1.TaskState"> & {
  id: bigint;
  result: Result;
  startedAt?: Timestamp;
  stoppedAt?: Timestamp;
  steps: StepState[];
};
type UpdateTaskRequest = Message<"runner.v1.UpdateTaskRequest"> & {
  state?: TaskState;
  outputs: Record<string, string>;
};
type UpdateTaskResponse = Message<"runner.v1.UpdateTaskResponse"> & {
  state?: TaskState;
  sentOutputs: string[];
};
type LogRow = Message<"runner.v1.LogRow"> & { time?: Timestamp; content: string };
type UpdateLogRequest = Message<"runner.v1.UpdateLogRequest"> & {
  taskId: bigint;
  index: bigint;
  rows: LogRow[];
  noMore: boolean;
};
type UpdateLogResponse = Message<"runner.v1.UpdateLogResponse"> & { ackIndex: bigint };
type PingRequest = Message<"ping.v1.PingRequest"> & { data: string };
type PingResponse = Message<"ping.v1.PingResponse"> & { data: string };

/** A field as `name number type`; a type is scalar, a message, `repeated …` or `map …` from text. */
type Fields = readonly (readonly [name: string, number: number, type: string])[];

const RUNNER: Readonly<Record<string, Fields>> = {
  Runner: [
    ["id", 1, "int64"],
    ["uuid", 2, "string"],
    ["token", 3, "string"],
    ["name", 4, "string"],
    ["status", 5, ".runner.v1.RunnerStatus"],
    ["agent_labels", 6, "repeated string"],
    ["custom_labels", 7, "repeated string"],
    ["version", 8, "string"],
    ["labels", 9, "repeated string"],
    ["ephemeral", 10, "bool"],
  ],
  RegisterRequest: [
    ["name", 1, "string"],
    ["token", 2, "string"],
    ["agent_labels", 3, "repeated string"],
    ["custom_labels", 4, "repeated string"],
    ["version", 5, "string"],
    ["labels", 6, "repeated string"],
    ["ephemeral", 7, "bool"],
    ["capabilities", 8, "repeated string"],
  ],
  RegisterResponse: [["runner", 1, ".runner.v1.Runner"]],
  DeclareRequest: [
    ["version", 1, "string"],
    ["labels", 2, "repeated string"],
    ["capabilities", 3, "repeated string"],
  ],
  DeclareResponse: [["runner", 1, ".runner.v1.Runner"]],
  FetchTaskRequest: [["tasks_version", 1, "int64"]],
  FetchTaskResponse: [
    ["task", 1, ".runner.v1.Task"],
    ["tasks_version", 2, "int64"],
  ],
  UpdateTaskRequest: [
    ["state", 1, ".runner.v1.TaskState"],
    ["outputs", 2, "map string"],
  ],
  UpdateTaskResponse: [
    ["state", 1, ".runner.v1.TaskState"],
    ["sent_outputs", 2, "repeated string"],
  ],
  UpdateLogRequest: [
    ["task_id", 1, "int64"],
    ["index", 2, "int64"],
    ["rows", 3, "repeated .runner.v1.LogRow"],
    ["no_more", 4, "bool"],
  ],
  UpdateLogResponse: [["ack_index", 1, "int64"]],
  Task: [
    ["id", 1, "int64"],
    ["workflow_payload", 2, "bytes"],
    ["context", 3, ".google.protobuf.Struct"],
    ["secrets", 4, "map string"],
    ["machine", 5, "string"],
    ["needs", 6, "map .runner.v1.TaskNeed"],
    ["vars", 7, "map string"],
  ],
  TaskNeed: [
    ["outputs", 1, "map string"],
    ["result", 2, ".runner.v1.Result"],
  ],
  TaskState: [
    ["id", 1, "int64"],
    ["result", 2, ".runner.v1.Result"],
    ["started_at", 3, ".google.protobuf.Timestamp"],
    ["stopped_at", 4, ".google.protobuf.Timestamp"],
    ["steps", 5, "repeated .runner.v1.StepState"],
  ],
  StepState: [
    ["id", 1, "int64"],
    ["result", 2, ".runner.v1.Result"],
    ["started_at", 3, ".google.protobuf.Timestamp"],
    ["stopped_at", 4, ".google.protobuf.Timestamp"],
    ["log_index", 5, "int64"],
    ["log_length", 6, "int64"],
  ],
  LogRow: [
    ["time", 1, ".google.protobuf.Timestamp"],
    ["content", 2, "string"],
  ],
};

const PING: Readonly<Record<string, Fields>> = {
  PingRequest: [["data", 1, "string"]],
  PingResponse: [["data", 1, "string"]],
};

const ENUMS: Readonly<Record<string, readonly string[]>> = {
  Result: ["UNSPECIFIED", "SUCCESS", "FAILURE", "CANCELLED", "SKIPPED"],
  RunnerStatus: ["UNSPECIFIED", "IDLE", "ACTIVE", "OFFLINE"],
};

const SCALARS: Readonly<Record<string, Type>> = {
  string: Type.STRING,
  bytes: Type.BYTES,
  int64: Type.INT64,
  bool: Type.BOOL,
};

const registry = createFileRegistry(
  create(FileDescriptorProtoSchema, {
    name: "runner/v1/runner.proto",
    package: "runner.v1",
    syntax: "proto3",
    dependency: ["google/protobuf/struct.proto", "google/protobuf/timestamp.proto"],
    messageType: Object.entries(RUNNER).map(([name, fields]) =>
      toMessage("runner.v1", name, fields),
    ),
    enumType: Object.entries(ENUMS).map(([name, words]) => ({
      name,
      value: words.map((word, number) => ({
        name: `${name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase()}_${word}`,
        number,
      })),
    })),
    service: [
      toService("runner.v1", "RunnerService", [
        "Register",
        "Declare",
        "FetchTask",
        "UpdateTask",
        "UpdateLog",
      ]),
    ],
  }),
  (name) =>
    [file_google_protobuf_struct, file_google_protobuf_timestamp].find(
      ({ proto }) => proto.name === name,
    ),
);

const pingRegistry = createFileRegistry(
  create(FileDescriptorProtoSchema, {
    name: "ping/v1/ping.proto",
    package: "ping.v1",
    syntax: "proto3",
    messageType: Object.entries(PING).map(([name, fields]) => toMessage("ping.v1", name, fields)),
    service: [toService("ping.v1", "PingService", ["Ping"])],
  }),
  () => undefined,
);

interface Unary<I extends Message, O extends Message> {
  methodKind: "unary";
  input: GenMessage<I>;
  output: GenMessage<O>;
}

/** The service of runners: registration, tasks, logs. */
export const runnerService = registry.getService("runner.v1.RunnerService") as GenService<{
  register: Unary<RegisterRequest, RegisterResponse>;
  declare: Unary<DeclareRequest, DeclareResponse>;
  fetchTask: Unary<FetchTaskRequest, FetchTaskResponse>;
  updateTask: Unary<UpdateTaskRequest, UpdateTaskResponse>;
  updateLog: Unary<UpdateLogRequest, UpdateLogResponse>;
}>;

/** The service by which a runner tests an address. */
export const pingService = pingRegistry.getService("ping.v1.PingService") as GenService<{
  ping: Unary<PingRequest, PingResponse>;
}>;

function toMessage(pack: string, name: string, fields: Fields): DescriptorProto {
  const nested: DescriptorProto[] = [];
  const field = fields.map(([fieldName, number, type]) => {
    const [, kind = "", of = type] = /^(?:(repeated|map) )?(.*)$/.exec(type) ?? [];
    if (kind !== "map") return toField(fieldName, number, of, kind === "repeated");
    // A map is a list of entries on the wire.
    const entry = `${fieldName.replaceAll(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase())}Entry`;
    nested.push(
      create(DescriptorProtoSchema, {
        name: entry,
        field: [toField("key", 1, "string", false), toField("value", 2, of, false)],
        options: { mapEntry: true },
      }),
    );
    return toField(fieldName, number, `.${pack}.${name}.${entry}`, true);
  });
  return create(DescriptorProtoSchema, { name, field, nestedType: nested });
}

function toField(name: string, number: number, type: string, isRepeated: boolean) {
  const scalar = SCALARS[type];
  const isEnum = Object.keys(ENUMS).some((each) => type === `.runner.v1.${each}`);
  return create(FieldDescriptorProtoSchema, {
    name,
    number,
    jsonName: name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
    label: isRepeated ? Label.REPEATED : Label.OPTIONAL,
    type: scalar ?? (isEnum ? Type.ENUM : Type.MESSAGE),
    ...(scalar === undefined ? { typeName: type } : {}),
  });
}

function toService(pack: string, name: string, methods: readonly string[]) {
  return {
    name,
    method: methods.map((method) => ({
      name: method,
      inputType: `.${pack}.${method}Request`,
      outputType: `.${pack}.${method}Response`,
    })),
  };
}
