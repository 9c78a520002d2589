import { z } from 'zod';

const Coding = z.enum(['br', 'gzip']);
export type Coding = z.infer<typeof Coding>;
const BuiltFile = z.object({
  url: z.string().regex(/^\/assets\/[A-Za-z0-9._-]+$/),
  type: z.string(),
  etag: z.string(),
  /** Encodings in which the build also stored the file, the smallest first. */
  codings: z.array(Coding),
});
export type BuiltFile = z.infer<typeof BuiltFile>;
/** Content of `console.json`, which the build of the console writes: URL paths of its pages, and its files. */
export const BuiltConsole = z.object({ pages: z.array(z.string()), files: z.array(BuiltFile) });
