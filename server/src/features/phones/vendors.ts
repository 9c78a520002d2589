/** Vendors of desk phones. Each has a folder with `vendor.json` and the templates that this file names. */
import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { PhoneDirectoryFile } from '@offhook/contract/phonebook-directory.ts';
import { Slug } from '@offhook/contract/config-fields.ts';
import { PHONE_LANGUAGES } from '@offhook/contract/config-phones.ts';
import { messageOf } from '../../core/errors.ts';
import { FORMATS, parseTemplate } from './template.ts';
import type { Template } from './template.ts';
import { VARIABLES } from './values.ts';

const Word = z
  .string()
  .max(60)
  .regex(/^[^\p{C}]*$/u);
/** Value of the header `Event` of a NOTIFY. */
const EventName = z
  .string()
  .max(60)
  .regex(/^[a-z-]+(?:;[a-z]+=[a-z]+)?$/);
const VendorFile = z.strictObject({
  title: Word,
  /** First six digits of the MAC addresses of its phones. */
  macs: z.array(z.string().regex(/^[0-9a-f]{6}$/)).max(200),
  /** Address to type into the phone; the service replaces `{url}` by the address of its folder, the phone `{mac}`. */
  address: z
    .string()
    .max(100)
    .regex(/^\{url\}[/A-Za-z0-9._{}-]*$/),
  files: z
    .array(
      z.strictObject({
        name: z.string().regex(/^[A-Za-z0-9._-]{0,40}\{mac\}[A-Za-z0-9._-]{0,40}$/),
        template: z.string().regex(/^[a-z0-9-]{1,40}\.[a-z]{1,10}$/),
        format: z.enum(FORMATS),
        type: z.string().regex(/^[a-z]{1,20}\/[a-z.+-]{1,40}$/),
      }),
    )
    .min(1)
    .max(8),
  transports: z.strictObject({ udp: Word, tcp: Word, tls: Word }),
  srtp: z.strictObject({ off: Word, offered: Word, required: Word }),
  /** Vendor's words for a key with a lamp and for a key that only dials. */
  keys: z.strictObject({ lamp: Word, dial: Word }),
  keys_per_page: z.int().min(1).max(100),
  languages: z.record(z.enum(PHONE_LANGUAGES), Word),
  events: z.strictObject({ check: EventName, reboot: EventName }),
  /** Format in which its phones read the phonebook; absent if they cannot read it. */
  phonebook: PhoneDirectoryFile.optional(),
});
type VendorFile = z.infer<typeof VendorFile>;
export interface Vendor extends Omit<VendorFile, 'files'> {
  readonly name: string;
  readonly files: readonly {
    /** MAC address in a file name, in lower case; null if the name does not match. */
    readonly macIn: (name: string) => string | null;
    readonly template: Template;
    readonly type: string;
  }[];
}
const MOST_BYTES = 262_144;

async function textOf(file: string): Promise<string> {
  const text = await readFile(file, 'utf8');
  if (text.length > MOST_BYTES) throw new Error(`more than ${MOST_BYTES} characters`);
  return text;
}
function macReader(pattern: string): (name: string) => string | null {
  const [before = '', after = ''] = pattern.split('{mac}');
  return (name) => {
    const mac = name.slice(before.length, name.length - after.length).toLowerCase();
    return /^[0-9a-f]{12}$/.test(mac) && name.startsWith(before) && name.endsWith(after) ? mac : null;
  };
}
async function load(folder: string, name: string): Promise<Vendor> {
  const file = VendorFile.parse(JSON.parse(await textOf(path.join(folder, 'vendor.json'))));
  const files = await Promise.all(
    file.files.map(async ({ name: pattern, template, format, type }) => ({
      macIn: macReader(pattern),
      template: parseTemplate(await textOf(path.join(folder, template)), format, VARIABLES),
      type,
    })),
  );
  return { ...file, name, files };
}
/** A later folder replaces vendors of an earlier one; a missing folder is empty. `faulty` receives unusable vendors. */
export async function loadVendors(
  folders: readonly string[],
  faulty: (folder: string, reason: string) => void,
): Promise<ReadonlyMap<string, Vendor>> {
  const vendors = new Map<string, Vendor>();
  for (const folder of folders) {
    const names = await readdir(folder).catch(() => []);
    for (const name of names.filter((one) => Slug.safeParse(one).success).toSorted())
      try {
        vendors.set(name, await load(path.join(folder, name), name));
      } catch (error) {
        faulty(path.join(folder, name), messageOf(error));
      }
  }
  return vendors;
}
