/** Generated from `console/locales` by `vite.config.ts`. */
declare module 'virtual:words' {
  type Words = Readonly<Record<string, Readonly<Record<string, string>>>>;
  type Load = () => Promise<{ readonly default: Words }>;
  /** Areas whose words are in the first file. */
  export const FIRST: readonly string[];
  /** By language. */
  export const FILES: Readonly<Record<string, { readonly first: Load; readonly others: Load }>>;
}
