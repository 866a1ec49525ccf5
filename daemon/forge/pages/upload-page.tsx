import type { Readable } from "node:stream";
import { AppError } from "../../errors.ts";
import { Alert } from "../../pages/elements.tsx";
import { Form } from "../../pages/form.tsx";
import { get, post } from "../../pages/page.ts";
import { CommitFields, commitChanges, type FileChange } from "./commit-form.tsx";
import { type OpenedForm, withForm } from "./edit-pages.tsx";
import {
  findRefusal,
  type ForgePageAnswer,
  type ForgePageContext,
  type ForgePageRoute,
} from "./forge-page.ts";
import { toFormPath, toSourcePath } from "./place.tsx";
import { RepositoryHead } from "./repository-head.tsx";

const MIB = 1024 * 1024;
/** Bytes of the files of one form, and of all forms that are read at the same time: they are in memory. */
const UPLOAD_BYTES_MAX = 16 * MIB;
const ALL_UPLOADS_BYTES_MAX = 64 * MIB;
const FILES_MAX = 100;

/** The form that commits files from the person's computer. */
export function uploadPages(): ForgePageRoute[] {
  const memory = createMemory();
  return [
    get(
      "/:owner/:repo/_upload/**:rest",
      withForm("_upload", async (context, opened) => showUpload(context, opened)),
    ),
    post(
      "/:owner/:repo/_upload/**:rest",
      withForm("_upload", (context, opened) => upload(context, opened, memory)),
      { takesFiles: true },
    ),
  ];
}

function showUpload(
  { form }: ForgePageContext,
  opened: OpenedForm,
  failed?: string,
): ForgePageAnswer {
  const { repository, place, session } = opened;
  return {
    kind: "page",
    title: "Upload files",
    ...(failed === undefined ? {} : { status: 422 }),
    body: (
      <>
        <RepositoryHead repository={repository} current="files" />
        <h2>Upload files</h2>
        <Alert text={failed} />
        <Form
          action={toFormPath(repository, place, "_upload")}
          token={session.formToken}
          className="stack wide-form"
          encType="multipart/form-data"
        >
          <label>
            Folder, empty for the top one
            <input
              name="folder"
              maxLength={400}
              autoCapitalize="none"
              defaultValue={form.get("folder") ?? place.path}
            />
          </label>
          <CommitFields target={opened} form={form} summary="Upload files" />
          <label>
            {`Files of together at most ${UPLOAD_BYTES_MAX / MIB} MiB; a file of the same name is replaced`}
            <input type="file" name="files" multiple required />
          </label>
          <div className="actions">
            <button type="submit" className="primary">
              Commit
            </button>
            <a href={toSourcePath(repository, place)}>Cancel</a>
          </div>
        </Form>
      </>
    ),
  };
}

async function upload(
  context: ForgePageContext,
  opened: OpenedForm,
  memory: UploadMemory,
): Promise<ForgePageAnswer> {
  const { form } = context;
  const folder = (form.get("folder") ?? "").trim().replace(/^\/+|\/+$/g, "");
  let to = "";
  using reserved = memory.reserve();
  const refusal = await findRefusal(
    ["archived", "conflict", "forbidden", "not_found", "too_large", "unprocessable"],
    async () => {
      const files = await readFiles(context, folder, reserved.grow);
      if (files.length === 0) throw new AppError("unprocessable", "Choose a file first.");
      const summary = files.length === 1 ? `Upload ${files[0]?.path}` : "Upload files";
      const shown = { summary, shownPath: folder };
      to = await commitChanges(context, opened.session, opened, files, shown);
    },
  );
  if (refusal !== undefined) return showUpload(context, opened, refusal.message);
  return { kind: "redirect", to };
}

async function readFiles(
  { files }: ForgePageContext,
  folder: string,
  grow: (bytes: number) => void,
): Promise<FileChange[]> {
  const changes: FileChange[] = [];
  for await (const { filename = "", stream } of files) {
    if (changes.length === FILES_MAX)
      throw new AppError("too_large", `One form takes ${FILES_MAX} files.`);
    const content = await readWhole(stream, grow);
    // A browser may send the path of a file; only its name counts.
    const name = filename.split(/[/\\]/).at(-1) ?? "";
    if (name === "") continue;
    const path = folder === "" ? name : `${folder}/${name}`;
    changes.push({ operation: "upload", path, content: content.toString("base64") });
  }
  return changes;
}

async function readWhole(stream: Readable, grow: (bytes: number) => void): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    grow(chunk.byteLength);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

type UploadMemory = ReturnType<typeof createMemory>;

/** Bounds the bytes of the files that all open forms have in memory. */
function createMemory() {
  let used = 0;
  return {
    reserve() {
      let own = 0;
      return {
        /** Refuses with `too_large` beyond the bytes of one form, with `unavailable` beyond those of all. */
        grow(bytes: number) {
          own += bytes;
          used += bytes;
          if (own > UPLOAD_BYTES_MAX)
            throw new AppError("too_large", "The files are too large: push them with git.");
          if (used > ALL_UPLOADS_BYTES_MAX)
            throw new AppError("unavailable", "The server is busy with uploads, try again soon.");
        },
        [Symbol.dispose]() {
          used -= own;
        },
      };
    },
  };
}
