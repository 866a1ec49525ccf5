import type { Database } from "../../../storage/engine/database.ts";
import {
  toNameKey,
  type VaultDocument,
} from "../../../storage/tables/vault/documents/documents.ts";
import {
  findDocumentByName,
  listDocumentsByName,
  type DocumentsOf,
  type NameCursor,
} from "../../../storage/tables/vault/documents/names.ts";
import {
  findTopic,
  setDocumentTopics,
  type VaultTopic,
} from "../../../storage/tables/vault/documents/topics.ts";
import { findLiveItemByRow } from "../../../storage/tables/vault/items.ts";
import { findQuota } from "../../../storage/tables/vault/quotas.ts";
import { UNKNOWN_MEDIA_TYPE } from "../../contract/media-type.ts";
import { filename as filenameSchema } from "../../contract/vault/documents.ts";
import { TOPIC_NAME_MAX, topicName } from "../../contract/vault/topics.ts";
import type { VaultCaller } from "../caller.ts";
import { toEssence } from "../cloud/bytes/previewable.ts";
import { type Documents, isInternal } from "../documents/documents.service.ts";
import { toContentAnswer } from "../documents/documents.view.ts";
import { refileDocument } from "../documents/refile-document.ts";
import type { Topics } from "../documents/topics.service.ts";
import type { DocumentTrash } from "../documents/trash.service.ts";
import type { DocumentUploads } from "../documents/uploads.service.ts";
import type { DocumentVersions } from "../documents/versions.service.ts";
import { ALL, nameTopics, TOPICS } from "./lock-places.ts";
import { DavRefusal, noParent } from "./refusals.ts";
import { type DavPath, toSpellings } from "./target.ts";
import {
  type DavFile,
  type DavFolder,
  type DavResource,
  splitExtension,
  type Undo,
} from "./tree.ts";

export interface DocumentTreeDeps {
  readonly db: Database;
  readonly documents: Pick<Documents, "content" | "withTopics">;
  readonly uploads: Pick<DocumentUploads, "upload">;
  readonly trash: Pick<DocumentTrash, "remove">;
  readonly versions: Pick<DocumentVersions, "replace">;
  readonly topics: Pick<Topics, "list" | "create" | "update" | "remove" | "removeIfEmpty">;
}

/** Documents of one page of a listing. */
const PAGE = 500;
/** How many characters of a document's id are in its name where an older document has the same. */
const ID_END = 8;
const ETAG_LENGTH = 32;

/**
 * Opens the documents of an account: all of them in `all`, and those of each topic in `topics/TOPIC`. A file is a document
 * wherever it is: to move it into the folder of a topic gives it the topic, to delete it puts it into the trash.
 */
export function createDocumentTree(deps: DocumentTreeDeps) {
  const { db, documents, uploads, trash, versions, topics } = deps;

  return (caller: VaultCaller): DavFolder => {
    const { userId } = caller;
    const quota = async () => {
      const found = await findQuota(db, userId);
      return (
        found && {
          used: found.usedBytes,
          free: Math.max(0, found.limitBytes - found.usedBytes),
        }
      );
    };

    const listTopics = async (): Promise<ReadonlyMap<string, VaultTopic>> => {
      return nameTopics(await topics.list(caller));
    };

    function toFolder(name: string, topic: VaultTopic | undefined): DavFolder {
      const of = { userId, topicId: topic?.id };
      return {
        kind: "folder",
        name,
        createdAt: topic?.createdAt,
        modifiedAt: topic?.updatedAt,
        holder: undefined,
        isFixed: topic?.userId === undefined,
        takes: "file",
        quota,
        async find(sought) {
          const spellings = toSpellings(sought);
          const names = [
            ...spellings.map((filename) => ({ spelling: filename, filename })),
            ...spellings.flatMap((spelling) => {
              const told = splitName(spelling);
              return told === undefined ? [] : { spelling, ...told };
            }),
          ];
          for (const { spelling, ...name } of names) {
            const found = await findDocumentByName(db, of, name);
            if (found !== undefined) return toFile(found, spelling, topic);
          }
          return undefined;
        },
        list: () => list(of, topic),
        async createFile(sought, { content, size, contentType }) {
          const stored = await uploads.upload(caller, {
            filename: toFilename(sought),
            contentType: toEssence(contentType) || UNKNOWN_MEDIA_TYPE,
            content,
            size,
            terms: {
              admit: async () => undefined,
              record: async (tx, document) => {
                if (topic === undefined) return;
                // It may have been deleted while the bytes arrived.
                if ((await findTopic(tx, topic.id)) === undefined) throw noParent();
                await setDocumentTopics(tx, document.id, [topic.id]);
              },
            },
          });
          return toFile(stored.document, sought, topic);
        },
        createFolder: () => Promise.reject(new DavRefusal(403, FLAT)),
        async remove() {
          if (topic === undefined) throw new DavRefusal(403, FIXED);
          if (topic.userId === undefined) throw new DavRefusal(403, SYSTEM_TOPIC);
          for await (const page of list(of, topic)) for (const file of page) await file.remove();
          await topics.remove(caller, topic.id);
        },
        async removeIfEmpty() {
          if (topic === undefined) throw new DavRefusal(403, FIXED);
          return topics.removeIfEmpty(caller, topic.id);
        },
        async discard() {
          if (topic === undefined) throw new DavRefusal(403, FIXED);
          // A document that has other topics is in their folders too, and loses this one only.
          for await (const page of listDocuments(of))
            for (const { document, topics: had } of await documents.withTopics(page))
              if (had.length === 1) await toFile(document, document.filename, topic).remove(true);
          await topics.remove(caller, topic.id);
        },
        async move(to) {
          if (topic === undefined) throw new DavRefusal(403, FIXED);
          const [folder, next, ...more] = to;
          if (folder !== TOPICS || next === undefined || more.length > 0)
            throw new DavRefusal(403, FLAT);
          if (topic.userId === undefined) throw new DavRefusal(403, SYSTEM_TOPIC);
          await topics.update(caller, topic.id, { name: toTopicName(next) });
          return undefined;
        },
      };
    }

    function toFile(document: VaultDocument, name: string, topic: VaultTopic | undefined): DavFile {
      const { id } = document;
      // Somebody may have changed a file in connected storage since its hash was taken. Some clients have little room for
      // an entity tag in a header.
      const etag = isInternal(document) ? document.sha256.slice(0, ETAG_LENGTH) : undefined;
      /** The version at the provider whose bytes were read. */
      let fileEtag: string | undefined;
      return {
        kind: "file",
        id: document.itemId ?? id,
        name,
        size: document.sizeBytes,
        contentType: document.contentType,
        etag,
        createdAt: document.createdAt,
        modifiedAt: document.contentAt,
        holder: { documentId: id },
        sharesName: true,
        async open() {
          if (etag === undefined && document.itemId !== undefined)
            fileEtag = (await findLiveItemByRow(db, document.itemId))?.etag;
          const content = await documents.content(caller, id, "attachment");
          const answer = toContentAnswer(content, "attachment");
          return etag === undefined ? answer : { ...answer, bytes: { ...answer.bytes, etag } };
        },
        async replace({ content, size, contentType }, onlyThis) {
          const replaced = await versions.replace(caller, id, {
            ifMatch: onlyThis ? `"${document.sha256}"` : "*",
            contentType: toEssence(contentType) || undefined,
            content,
            size,
          });
          return toFile(replaced.document, name, topic);
        },
        async remove() {
          // The version that was seen: another one came from somebody else meanwhile.
          const ifMatch = isInternal(document) ? `"${document.sha256}"` : undefined;
          if (!(await trash.remove(caller, id, { ifMatch, fileEtag })))
            throw new DavRefusal(503, "The connected storage did not delete the file. Try again.");
        },
        move: (to) => move(document, { name, topic }, to),
      };
    }

    async function* list(
      of: DocumentsOf,
      topic: VaultTopic | undefined,
    ): AsyncGenerator<readonly DavResource[]> {
      // The names of the documents before whose names are equal but for the case.
      let key = "";
      let seen = new Set<string>();
      for await (const page of listDocuments(of))
        yield page.map((document) => {
          const { filename } = document;
          const own = toNameKey(filename);
          if (own !== key) [key, seen] = [own, new Set()];
          const isFirst = !seen.has(filename);
          seen.add(filename);
          return toFile(document, isFirst ? filename : toOtherName(document), topic);
        });
    }

    async function* listDocuments(of: DocumentsOf): AsyncGenerator<readonly VaultDocument[]> {
      let after: NameCursor | undefined;
      for (;;) {
        const page = await listDocumentsByName(db, of, { after, limit: PAGE });
        yield page;
        if (page.length < PAGE) return;
        after = page.at(-1);
      }
    }

    /** Renames a document, and changes its topics by the folders that it leaves and enters. */
    async function move(
      { id, filename }: VaultDocument,
      from: { readonly name: string; readonly topic: VaultTopic | undefined },
      to: DavPath,
    ): Promise<Undo> {
      const target = await findFolder(to.slice(0, -1));
      const name = to.at(-1) ?? "";
      const before = await refileDocument(db, caller, id, {
        // A name with the end of an id stands for the document's own.
        filename: name === from.name ? filename : toFilename(name),
        leaves: from.topic?.id,
        enters: target.topic?.id,
      });
      return async () => {
        await refileDocument(db, caller, id, before);
      };
    }

    async function findFolder(path: DavPath): Promise<{ readonly topic: VaultTopic | undefined }> {
      const [folder, name, ...more] = path;
      if (folder === ALL && name === undefined) return { topic: undefined };
      const topic =
        name === undefined ? undefined : (await listTopics()).get(name.normalize("NFC"));
      if (folder !== TOPICS || topic === undefined || more.length > 0) throw noParent();
      return { topic };
    }

    const fixed = { kind: "folder", holder: undefined, isFixed: true, quota } as const;
    const refuse = (text: string) => () => Promise.reject(new DavRefusal(403, text));
    const topicsFolder: DavFolder = {
      ...fixed,
      name: TOPICS,
      takes: "folder",
      nameMax: TOPIC_NAME_MAX,
      async find(name) {
        const segment = name.normalize("NFC");
        const topic = (await listTopics()).get(segment);
        return topic && toFolder(segment, topic);
      },
      async *list() {
        yield [...(await listTopics())].map(([name, topic]) => toFolder(name, topic));
      },
      createFile: refuse("Documents are stored in all, or in the folder of a topic."),
      async createFolder(name) {
        await topics.create(caller, { name: toTopicName(name), description: "" }, "caller");
      },
      remove: refuse(FIXED),
      removeIfEmpty: refuse(FIXED),
      move: refuse(FIXED),
    };
    const folders = [toFolder(ALL, undefined), topicsFolder];
    return {
      ...fixed,
      name: "documents",
      takes: "nothing",
      find: async (name) => folders.find((folder) => folder.name === name),
      async *list() {
        yield folders;
      },
      createFile: refuse("Documents are stored in all, or in the folder of a topic."),
      createFolder: refuse("Folders are created in topics only: each is a topic."),
      remove: refuse(FIXED),
      removeIfEmpty: refuse(FIXED),
      move: refuse(FIXED),
    };
  };
}

const FIXED = "This folder is always there.";
const FLAT = "Documents have topics and no folders. Create folders in topics only.";
const SYSTEM_TOPIC = "Only an administrator changes this topic.";

/** The name of a document where an older one has the same: `scan ~1a2b3c4d.pdf`. */
function toOtherName({ filename, id }: Pick<VaultDocument, "filename" | "id">): string {
  const { stem, extension } = splitExtension(filename);
  return `${stem} ~${id.slice(-ID_END)}${extension}`;
}

/** Reads such a name. */
function splitName(name: string): { filename: string; idEnd: string } | undefined {
  const [, stem, idEnd, extension = ""] = /^(.*) ~([0-9a-f]{8})(\.[^.]*)?$/s.exec(name) ?? [];
  if (stem === undefined || idEnd === undefined) return undefined;
  return { filename: stem + extension, idEnd };
}

/** Returns a name that a topic can have. */
function toTopicName(name: string): string {
  const parsed = topicName.safeParse(name);
  if (!parsed.success)
    throw new DavRefusal(403, `A topic has a name of at most ${TOPIC_NAME_MAX} characters.`);
  return parsed.data;
}

/** Returns a name that a document can have. */
function toFilename(name: string): string {
  const parsed = filenameSchema.safeParse(name);
  if (!parsed.success) throw new DavRefusal(403, "No document can have this name.");
  return parsed.data;
}
