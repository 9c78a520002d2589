/** One field of a form, by the type in its schema. */
import type { ReactNode } from 'react';
import {
  Checkbox,
  Fieldset,
  Input,
  NativeSelect,
  NumberInput,
  SimpleGrid,
  Stack,
  Switch,
  TextInput,
} from '@mantine/core';
import { fieldHelp, fieldLabel, optionLabel } from './field-words.ts';
import { fieldId, useForm } from './form-context.ts';
import { LanguageInput } from './language-input.tsx';
import { ListInput } from './list-input.tsx';
import type { Line } from './list-input.tsx';
import { useMistake } from './mistakes.tsx';
import { DestinationInput, ReferenceSelect, SoundInput } from './references.tsx';
import { initialOf } from './schema.ts';
import type { Field, Fields, Shape } from './schema.ts';
import { SoundUpload } from './sound-upload.tsx';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('admin');

export interface InputProps {
  /** Without its help text, which the line above shows. */
  readonly short?: boolean;
  readonly field: Field;
  readonly path: string;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
}
const UNITS: readonly (readonly [RegExp, () => string])[] = [
  [/_seconds$/, () => t('unit_seconds')],
  [/_percent$/, () => '%'],
];
function unitOf(path: string): string {
  const parts = path.split('.').reverse();
  const found = UNITS.find(([pattern]) => parts.some((part) => pattern.test(part)));
  return found === undefined ? '' : ` ${found[1]()}`;
}
const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Properties of an input that do not depend on its shape. */
interface Common {
  readonly id: string;
  readonly label: string;
  readonly description: string | undefined;
  readonly error: ReactNode;
  readonly withAsterisk: boolean;
}
interface PartProps<Is extends Shape['is']> extends Omit<InputProps, 'short'> {
  readonly shape: Extract<Shape, { readonly is: Is }>;
  readonly common: Common;
}
function NumberField({ field, shape, path, value, onChange, common }: PartProps<'number'>): ReactNode {
  return (
    <NumberInput
      {...common}
      {...(shape.min === null ? {} : { min: shape.min })}
      {...(shape.max === null ? {} : { max: shape.max })}
      allowDecimal={false}
      clampBehavior="none"
      suffix={unitOf(path)}
      value={typeof value === 'number' ? value : ''}
      onChange={(next) => {
        if (next !== '') onChange(Number(next));
        else onChange(field.nullable ? null : undefined);
      }}
    />
  );
}
/** Several choices: an ordered list if their order matters, else checkboxes. */
function ChoicesInput({ field, shape, path, value, onChange, common }: PartProps<'choices'>): ReactNode {
  const { options } = shape;
  if (shape.ordered) {
    const item: Shape = { is: 'choice', options };
    return (
      <ListInput
        field={{ ...field, shape: { is: 'list', item, most: options.length } }}
        path={path}
        value={value}
        onChange={onChange}
        line={lineOf(field.name, item)}
      />
    );
  }
  return (
    <Checkbox.Group
      {...common}
      value={Array.isArray(value) ? (value as string[]) : []}
      onChange={(next) => onChange(options.filter((option) => next.includes(option)))}
    >
      <SimpleGrid cols={{ base: 2, sm: 4 }} mt={6} spacing="xs" verticalSpacing={6}>
        {options.map((option) => (
          <Checkbox key={option} value={option} label={optionLabel(field.name, option)} />
        ))}
      </SimpleGrid>
    </Checkbox.Group>
  );
}
/** Fields of an object; a nullable one has a switch above them. */
function ObjectInput({ field, shape, path, value, onChange, common }: PartProps<'object'>): ReactNode {
  const { id, label, description, error } = common;
  const isSet = value !== null && value !== undefined;
  const inner = (
    <FieldGrid fields={shape.fields} path={path} values={(value ?? {}) as Fields} onChange={onChange} />
  );
  if (!field.nullable)
    return (
      <Fieldset legend={label} id={id}>
        {error && <Input.Error>{error}</Input.Error>}
        {inner}
      </Fieldset>
    );
  return (
    <Stack gap="xs" id={id}>
      <Switch
        label={label}
        description={description}
        error={error}
        checked={isSet}
        onChange={(event) => onChange(event.currentTarget.checked ? initialOf(shape.fields) : null)}
      />
      {isSet && <Fieldset aria-label={label}>{inner}</Fieldset>}
    </Stack>
  );
}

function FieldInput({ field, path, value, onChange, short = false }: InputProps): ReactNode {
  const { kind } = useForm();
  const { name, shape, nullable, required } = field;
  const deep =
    shape.is === 'destination' || shape.is === 'sound' || shape.is === 'choices' || shape.is === 'upload';
  const error = useMistake(path, deep);
  const label = fieldLabel(kind, name);
  const help = short ? '' : fieldHelp(kind, name);
  const common: Common = {
    id: fieldId(path),
    label,
    description: help === '' ? undefined : help,
    error,
    withAsterisk: required,
  };
  const part = { field, path, value, onChange, common };
  switch (shape.is) {
    case 'text':
      return (
        <TextInput
          {...common}
          autoComplete="off"
          spellCheck={false}
          value={text(value)}
          onChange={(event) => {
            const next = event.currentTarget.value;
            onChange(next === '' && nullable ? null : next);
          }}
        />
      );
    case 'number':
      return <NumberField {...part} shape={shape} />;
    case 'switch':
      return (
        <Switch
          id={common.id}
          label={label}
          description={common.description}
          error={error}
          checked={value === true}
          onChange={(event) => onChange(event.currentTarget.checked)}
        />
      );
    case 'choice':
      return (
        <NativeSelect
          {...common}
          value={text(value)}
          onChange={(event) => onChange(event.currentTarget.value)}
          data={[
            ...(text(value) === ''
              ? [{ value: '', label: t(typeof field.initial === 'string' ? 'automatic' : 'choose') }]
              : []),
            ...shape.options.map((option) => ({ value: option, label: optionLabel(name, option) })),
          ]}
        />
      );
    case 'choices':
      return <ChoicesInput {...part} shape={shape} />;
    case 'reference':
      return (
        <ReferenceSelect
          {...common}
          kind={shape.kind}
          clearable={nullable}
          value={text(value)}
          onChange={(next) => onChange(next === '' && nullable ? null : next)}
        />
      );
    case 'destination':
      return (
        <DestinationInput
          {...common}
          nullable={nullable}
          value={value as Fields | null}
          onChange={onChange}
        />
      );
    case 'sound':
      return (
        <SoundInput {...common} nullable={nullable} value={value as Fields | null} onChange={onChange} />
      );
    case 'language':
      return (
        <LanguageInput
          {...common}
          nullable={nullable}
          value={text(value)}
          onChange={(next) => onChange(next === '' ? null : next)}
        />
      );
    case 'upload':
      return <SoundUpload {...common} value={text(value)} onChange={onChange} />;
    case 'list':
      return (
        <ListInput
          field={field}
          path={path}
          value={value}
          onChange={onChange}
          line={lineOf(name, shape.item)}
        />
      );
    case 'object':
      return <ObjectInput {...part} shape={shape} />;
    case 'secret':
      // The form shows secrets by itself, because their values are never readable.
      return null;
  }
}
const WIDE = new Set(['list', 'object', 'destination', 'choices', 'sound', 'upload']);
/** Limit of fields in one row, as for a queue's member. */
const MOST_IN_A_ROW = 4;
const isCompact = (fields: readonly Field[]): boolean =>
  fields.length <= MOST_IN_A_ROW && fields.every((field) => !WIDE.has(field.shape.is));
/** Renders a line of a list; of short objects only the first has labels. */
const lineOf =
  (name: string, item: Shape) =>
  ({ index, path, value, onChange }: Line): ReactNode =>
    item.is === 'object' ? (
      <FieldGrid
        fields={item.fields}
        compact={index > 0 && isCompact(item.fields)}
        path={path}
        values={value as Fields}
        onChange={onChange}
      />
    ) : (
      <FieldInput
        short
        field={{ name, shape: item, nullable: false, required: true, initial: '' }}
        path={path}
        value={value}
        onChange={onChange}
      />
    );
interface FieldGridProps {
  /** All in one row if there is space, without help texts. */
  readonly compact?: boolean;
  readonly fields: readonly Field[];
  readonly path: string;
  readonly values: Fields;
  readonly onChange: (values: Fields) => void;
}
/** Fields side by side if there is space; large ones take the whole width. */
export function FieldGrid({ fields, path, values, onChange, compact = false }: FieldGridProps): ReactNode {
  return (
    <SimpleGrid
      cols={compact ? { base: 1, xs: fields.length } : { base: 1, sm: 2 }}
      spacing={compact ? 'sm' : 'md'}
      verticalSpacing={compact ? 'xs' : 'sm'}
      style={compact ? { alignItems: 'end' } : undefined}
    >
      {fields.map((field) => (
        <div key={field.name} style={WIDE.has(field.shape.is) ? { gridColumn: '1 / -1' } : undefined}>
          <FieldInput
            field={field}
            short={compact}
            path={path === '' ? field.name : `${path}.${field.name}`}
            value={values[field.name]}
            onChange={(value) => onChange({ ...values, [field.name]: value })}
          />
        </div>
      ))}
    </SimpleGrid>
  );
}
