type Fields = Record<string, unknown>;
const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** JSON Merge Patch (RFC 7396): null deletes a member, objects are merged, any other value replaces. Pure. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isFields(patch)) return patch;
  const merged = new Map(Object.entries(isFields(target) ? target : {}));
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name);
    else merged.set(name, mergePatch(merged.get(name), value));
  }
  return Object.fromEntries(merged);
}
