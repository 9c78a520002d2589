/** The phonebook as desk phones read it. */
import { z } from 'zod';

export const PhoneDirectoryFile = z.enum(['yealink.xml', 'snom.xml', 'cisco.xml', 'phonebook.xml']);
export type PhoneDirectoryFile = z.infer<typeof PhoneDirectoryFile>;
export const PhoneDirectoryPath = z.strictObject({
  token: z
    .string()
    .regex(/^ohk_[A-Za-z0-9_-]{43}$/, 'must be an API key')
    .describe('An API key with the scope `phonebook:phones`.'),
  file: PhoneDirectoryFile.describe('Format; `phonebook.xml` is that of Grandstream.'),
});
/** Phones add parameters of their own, which are ignored. */
export const PhoneDirectoryQuery = z.object({
  q: z
    .string()
    .trim()
    .max(64)
    .default('')
    .describe(
      'Words that are each part of name, company or department, or number. Without them the newest customers and the colleagues.',
    ),
});
