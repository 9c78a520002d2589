/** A translatable text: `key` is the English text with `{0}`, `{1}` … in the places of `values`. */
export interface Said {
  readonly key: string;
  readonly values: readonly (string | number | Said)[];
}

/** A translatable text: say`the body is larger than ${n} bytes`. */
export const say = (parts: TemplateStringsArray, ...values: Said['values']): Said => ({
  key: parts.reduce((text, part, i) => `${text}{${i - 1}}${part}`),
  values,
});
/** A text without values. */
export const asSaid = (text: Said | string): Said =>
  typeof text === 'string' ? { key: text, values: [] } : text;
/** Joins texts. */
export const sayAll = (all: readonly Said[], between: string): Said => ({
  key: all.map((_, i) => `{${i}}`).join(between),
  values: all,
});
/** The text in the language of `translate`; English by default. */
export const spoken = (said: Said | string, translate: (key: string) => string = (key) => key): string =>
  typeof said === 'string'
    ? translate(said)
    : translate(said.key).replace(/\{(\d{1,2})\}/g, (place, n: string) => {
        const value = said.values[Number(n)];
        return value === undefined
          ? place
          : typeof value === 'object'
            ? spoken(value, translate)
            : String(value);
      });
