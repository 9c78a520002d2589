/** First of `codings`, the server's order, that a header `Accept-Encoding` names with a quality above 0 (RFC 9110, 12.5.3). */
export function acceptedCoding<C extends string>(
  header: string | undefined,
  codings: readonly C[],
): C | undefined {
  const accepted = new Set(
    (header ?? '').split(',').flatMap((part) => {
      const [name = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase());
      const quality = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? '1';
      return Number(quality) > 0 ? [name] : [];
    }),
  );
  return codings.find((coding) => accepted.has(coding));
}
