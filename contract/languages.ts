/** Languages that the service speaks to people; the first is the one where none of them was asked for. */
export const LANGUAGES = ['en', 'tr', 'de'] as const;
export type Language = (typeof LANGUAGES)[number];
