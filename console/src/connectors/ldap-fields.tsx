/** Settings of an address book on an LDAP server; an empty field takes the default of the service. */
import type { ReactNode } from 'react';
import { Group, TextInput, Textarea } from '@mantine/core';
import type { LdapSettings } from '@offhook/contract/phonebook-sources.ts';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('connectors');

/** Limits of the contract, which is not loaded here. */
const MOST = { base: 500, filter: 1_000, attribute: 64, numbers: 1_100, ca: 20_000 };
/** Its defaults, as examples. */
const USUAL = {
  filter: '(&(objectClass=person)(|(telephoneNumber=*)(mobile=*)(homePhone=*)))',
  name: 'cn',
  company: 'o',
  email: 'mail',
  language: 'preferredLanguage',
  numbers: 'telephoneNumber = work\nmobile = mobile\nhomePhone = home',
};

/** The fields as they are typed; `numbers` has a line for each attribute. */
export interface LdapTexts {
  readonly base: string;
  readonly filter: string;
  readonly name: string;
  readonly company: string;
  readonly email: string;
  readonly language: string;
  readonly numbers: string;
  readonly ca: string;
}
export const textsOf = (ldap: LdapSettings | null): LdapTexts => {
  const { name = '', company = '', email = '', language = '', numbers = {} } = ldap?.attributes ?? {};
  const lines = Object.entries(numbers).map(([attribute, label]) =>
    label === null ? attribute : `${attribute} = ${label}`,
  );
  const { base = '', filter = '' } = ldap ?? {};
  return { base, filter, name, company, email, language, numbers: lines.join('\n'), ca: ldap?.ca ?? '' };
};
function numbersOf(text: string): Record<string, string | null> {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return Object.fromEntries(
    lines.map((line) => {
      const [attribute = '', ...label] = line.split('=');
      const trimmed = label.join('=').trim();
      return [attribute.trim(), trimmed === '' ? null : trimmed];
    }),
  );
}
export function settingsOf({ base, ca, filter, name, company, email, language, numbers }: LdapTexts) {
  const given = Object.entries({ name, company, email, language })
    .map(([field, text]) => [field, text.trim()] as const)
    .filter(([, text]) => text !== '');
  return {
    base: base.trim(),
    ...(filter.trim() !== '' && { filter: filter.trim() }),
    attributes: {
      ...Object.fromEntries(given),
      ...(numbers.trim() !== '' && { numbers: numbersOf(numbers) }),
    },
    ca: ca.trim() === '' ? null : ca,
  };
}

const NAMES = ['base', 'filter', 'name', 'company', 'email', 'language', 'numbers', 'ca'] as const;
const AROUND: ReadonlySet<string> = new Set(['base', 'filter', 'ca']);
/** The field of the request with this setting. */
const pathOf = (name: keyof LdapTexts): string => `ldap.${AROUND.has(name) ? '' : 'attributes.'}${name}`;
/** Labels of the inputs by the fields of the request. */
export const ldapLabels = (): Record<string, string> =>
  Object.fromEntries(NAMES.map((name) => [pathOf(name), t(`source_${name}`)]));

interface FieldsProps {
  readonly texts: LdapTexts;
  readonly errorAt: (path: string) => ReactNode;
  readonly onChange: (texts: LdapTexts) => void;
}
export function LdapFields({ texts, errorAt, onChange }: FieldsProps): ReactNode {
  const field = (name: keyof LdapTexts, maxLength: number) => ({
    label: t(`source_${name}`),
    error: errorAt(pathOf(name)),
    value: texts[name],
    maxLength,
    spellCheck: false,
    onChange: (event: { readonly currentTarget: { readonly value: string } }) =>
      onChange({ ...texts, [name]: event.currentTarget.value }),
  });
  return (
    <>
      <TextInput
        {...field('base', MOST.base)}
        description={t('source_base_hint')}
        placeholder="ou=people,dc=example,dc=com"
        required
      />
      <TextInput
        {...field('filter', MOST.filter)}
        description={t('source_filter_hint')}
        placeholder={USUAL.filter}
      />
      <Group grow align="flex-end">
        {(['name', 'company', 'email', 'language'] as const).map((name) => (
          <TextInput key={name} {...field(name, MOST.attribute)} placeholder={USUAL[name]} />
        ))}
      </Group>
      <Textarea
        {...field('numbers', MOST.numbers)}
        description={t('source_numbers_hint')}
        placeholder={USUAL.numbers}
        autosize
        minRows={3}
        maxRows={10}
      />
      <Textarea
        {...field('ca', MOST.ca)}
        description={t('source_ca_hint')}
        placeholder="-----BEGIN CERTIFICATE-----"
        autosize
        minRows={2}
        maxRows={8}
      />
    </>
  );
}
