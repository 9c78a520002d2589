/** The part of zod's types that the contract uses, so that users of the SDK need no zod. */
export interface ZodType<Out = unknown, In = Out, Optional = unknown> {
  readonly output: Out;
  readonly input: In;
  /** Objects in which the key may be absent: `both`, only the `input`, or `never`. */
  readonly optional: Optional;
}
export type output<S extends ZodType> = S['output'];
export type input<S extends ZodType> = S['input'];
export type infer<S extends ZodType> = S['output'];
export type $ZodTypeInternals<Out, In> = readonly [Out, In];
/** Metadata of schemas, which no client method uses. */
export type $ZodType<Out = unknown, In = Out, _Internals = unknown> = ZodType<Out, In>;
export type $ZodRegistry<Notes, _Schema> = object & { readonly notes?: Notes };
export type $strip = object;
export type $strict = object;

type Flat<T> = { [K in keyof T]: T[K] } & {};
type Shape = Readonly<Record<string, ZodType>>;
type Missing<T extends Shape, Where> = {
  [K in keyof T]: T[K]['optional'] extends Where ? K : never;
}[keyof T];
type Fields<T extends Shape, Side extends 'output' | 'input', Where> = Flat<
  { [K in Exclude<keyof T, Missing<T, Where>>]: T[K][Side] } & {
    [K in Missing<T, Where>]?: T[K][Side] | undefined;
  }
>;

export interface ZodString extends ZodType<string, string, 'never'> {}
export interface ZodEmail extends ZodType<string, string, 'never'> {}
export interface ZodURL extends ZodType<string, string, 'never'> {}
export interface ZodIPv4 extends ZodType<string, string, 'never'> {}
export interface ZodCIDRv4 extends ZodType<string, string, 'never'> {}
export interface ZodCIDRv6 extends ZodType<string, string, 'never'> {}
export interface ZodIPv6 extends ZodType<string, string, 'never'> {}
export interface ZodCustomStringFormat<_Name> extends ZodType<string, string, 'never'> {}
export interface ZodISODate extends ZodType<string, string, 'never'> {}
export interface ZodISODateTime extends ZodType<string, string, 'never'> {}
export interface ZodNumber extends ZodType<number, number, 'never'> {}
export interface ZodInt extends ZodType<number, number, 'never'> {}
export interface ZodCoercedNumber<_Input = unknown> extends ZodType<number, _Input, 'never'> {}
export interface ZodBoolean extends ZodType<boolean, boolean, 'never'> {}
export interface ZodNull extends ZodType<null, null, 'never'> {}
export interface ZodUnknown extends ZodType<unknown, unknown, 'never'> {}
/** Body that is sent as a file, which no client method takes. */
export interface ZodAny extends ZodType<unknown, unknown, 'never'> {}
export interface ZodLiteral<T> extends ZodType<T, T, 'never'> {}
export interface ZodEnum<T> extends ZodType<T[keyof T], T[keyof T], 'never'> {}
export interface ZodNullable<S extends ZodType> extends ZodType<
  S['output'] | null,
  S['input'] | null,
  S['optional']
> {}
export interface ZodOptional<S extends ZodType> extends ZodType<
  S['output'] | undefined,
  S['input'] | undefined,
  'both'
> {}
export interface ZodDefault<S extends ZodType> extends ZodType<
  Exclude<S['output'], undefined>,
  S['input'] | undefined,
  'input'
> {}
export interface ZodPrefault<S extends ZodType> extends ZodType<
  S['output'],
  S['input'] | undefined,
  'input'
> {}
export interface ZodArray<S extends ZodType> extends ZodType<S['output'][], S['input'][], 'never'> {}
export interface ZodRecord<K extends ZodType<string>, S extends ZodType> extends ZodType<
  Record<K['output'], S['output']>,
  Record<K['output'], S['input']>,
  'never'
> {}
export interface ZodUnion<T extends readonly ZodType[]> extends ZodType<
  T[number]['output'],
  T[number]['input'],
  'never'
> {}
export interface ZodDiscriminatedUnion<
  T extends readonly ZodType[],
  _Key extends string = string,
> extends ZodType<T[number]['output'], T[number]['input'], 'never'> {}
export interface ZodObject<T extends Shape = Shape, _Config = $strip> extends ZodType<
  Fields<T, 'output', 'both'>,
  Fields<T, 'input', 'both' | 'input'>,
  'never'
> {}
export interface ZodTransform<Out, In> extends ZodType<Out, In, 'never'> {}
export interface ZodPipe<A extends ZodType, B extends ZodType> extends ZodType<
  B['output'],
  A['input'],
  A['optional']
> {}
