import { z } from 'zod';

const Coding = z.enum(['br', 'gzip']);
export type Coding = z.infer<typeof Coding>;
const BuiltFile = z.object({
  url: z.string().regex(/^\/assets\/[A-Za-z0-9._-]+$/),
  type: z.string(),
  etag: z.string(),
  /** Ways it lies there beside the file itself, the smallest first. */
  codings: z.array(Coding),
});
export type BuiltFile = z.infer<typeof BuiltFile>;
/** `console.json` of a build: the paths of its pages and its files. */
export const BuiltConsole = z.object({ pages: z.array(z.string()), files: z.array(BuiltFile) });
