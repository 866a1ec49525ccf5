import { AppError } from "../../../errors.ts";
import type { FilePart } from "../../../http/handle.ts";
import { Form } from "../../../pages/form.tsx";
import { toPicturePath } from "../elements.tsx";
import type { ForgePageRoute } from "../forge-page.ts";
import { DeleteEntry } from "./settings-form.tsx";
import { type Request, settingsPage, type SettingsPlace, type View } from "./settings-page.tsx";

/** Largest picture, as the operations take it. */
const PICTURE_BYTES_MAX = 1024 * 1024;

/** What a page does with the picture of its place. */
export interface PictureOptions<Opened> {
  /** Returns the address of the picture; empty when there is none. */
  load(view: View<Opened>): Promise<string>;
  /** Sets the picture, which is in base64. */
  set(request: Request, image: string): Promise<unknown>;
  remove(request: Request): Promise<unknown>;
  /** Whether the picture stays as it is, as that of an archived repository. */
  isFixed?(opened: Opened): boolean;
}

/** The page of the picture of an account, an organization or a repository. */
export function picturePage<Opened>(
  place: SettingsPlace<Opened>,
  options: PictureOptions<Opened>,
): ForgePageRoute[] {
  return settingsPage(place, {
    at: "avatar",
    title: "Picture",
    takesFiles: true,
    ...(options.isFixed === undefined ? {} : { isFixed: options.isFixed }),
    async show(view) {
      const address = await options.load(view);
      return (
        <>
          {address === "" ? (
            <p>No picture.</p>
          ) : (
            <p>
              <img
                className="picture"
                src={toPicturePath(address)}
                alt="The picture now"
                width={128}
                height={128}
              />
            </p>
          )}
          {view.offers("set") ? <PictureForms view={view} /> : null}
        </>
      );
    },
    actions: {
      async set(request) {
        const image = await readPicture(request.context.files);
        await options.set(request, image);
      },
      async delete(request) {
        await options.remove(request);
      },
    },
  });
}

function PictureForms({ view }: { view: View }) {
  return (
    <>
      <Form
        action={view.home}
        token={view.session.formToken}
        className="stack"
        encType="multipart/form-data"
      >
        <input type="hidden" name="action" value="set" />
        <label>
          A picture of at most 1 MiB: PNG, JPEG, GIF or WebP
          <input
            type="file"
            name="picture"
            accept="image/png,image/jpeg,image/gif,image/webp"
            required
          />
        </label>
        <div>
          <button type="submit" className="primary">
            Save the picture
          </button>
        </div>
      </Form>
      <DeleteEntry view={view} hidden={{}} name="Remove it" submit="Remove the picture" />
    </>
  );
}

/** Reads the first file of a form as base64. */
async function readPicture(files: AsyncIterable<FilePart>): Promise<string> {
  for await (const { stream } of files) {
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      bytes += chunk.byteLength;
      if (bytes > PICTURE_BYTES_MAX)
        throw new AppError("too_large", "The picture is larger than 1 MiB.");
      chunks.push(chunk);
    }
    if (bytes > 0) return Buffer.concat(chunks).toString("base64");
  }
  throw new AppError("unprocessable", "Choose a picture first.");
}
