/** Refusals of the configuration and its sounds in German. */
export const config: Readonly<Record<string, string>> = {
  'the engine did not finish within {0} s': 'die Anlage wurde nicht innerhalb von {0} s fertig',
  'no stored text is left for {0}': 'für {0} ist nichts mehr da, was geschrieben werden könnte',
  'no running engine can apply a configuration':
    'es läuft keine Anlage, die eine Konfiguration übernehmen könnte',
  'the service is still starting; try again shortly': 'der Start des Dienstes ist noch nicht abgearbeitet',
  'an apply is under way': 'eine Übernahme läuft',
  'changed by hand: {0}': 'von Hand geändert: {0}',
  'there is no such apply': 'diese Übernahme gibt es nicht',
  'version {0} is no longer stored, or not yet': 'die Version {0} gibt es nicht mehr oder noch nicht',
  'the draft has changes that are not applied; send discard_draft to discard them':
    'der Entwurf hat Änderungen, die nicht übernommen sind; mit discard_draft werden sie verworfen',
  'version {0} is no longer stored': 'die Version {0} gibt es nicht mehr',
  'the apply has ended or has already written files':
    'die Übernahme ist vorbei oder hat schon Dateien geschrieben',
  'version {0} has no such object': 'die Version {0} hat kein solches Objekt',
  '{0} cannot be distinguished from {1}, {2}': '{0} lässt sich nicht von {1} unterscheiden, {2}',
  'at least one active person must keep the level admin':
    'mindestens eine aktive Person muss die Stufe admin behalten',
  'there is no {0} {1}': '{0} {1} gibt es nicht',
  'all parking lots together have more than {0} slots':
    'alle Parkplätze zusammen haben mehr als {0} Stellplätze',
  '{0} is taken by {1}': '{0} ist schon vergeben: {1}',
  'extension {0} has this user name': 'Nebenstelle {0} hat diesen Benutzernamen',
  'must not be the extension of another person': 'darf nicht die Nebenstelle einer anderen Person sein',
  'must contain each extension once': 'darf jede Nebenstelle nur einmal enthalten',
  'must have one destination for each key': 'darf für jede Taste nur ein Ziel haben',
  'there is no such sound; upload it first': 'diesen Ton gibt es nicht; laden Sie ihn zuerst hoch',
  'needs a leader_pin: without one nobody can be the leader': 'ohne eigene PIN könnte niemand Leiter sein',
  'must differ from the PIN of the other participants': 'es ist dieselbe wie die aller anderen',
  'is needed: it is the complete number to call over this trunk':
    'hier ist es die ganze zu wählende Nummer, und sie fehlt',
  'must not be the address that the phones of browsers come from':
    'jeder Browser, der ein Telefon ist, würde dafür gehalten: sie kommen alle von dort',
  'needs a username and a password to register': 'zum Anmelden braucht es Benutzername und Passwort',
  'needs both a username and a password, or neither': 'eine Anmeldung besteht aus Benutzername und Passwort',
  'needs a domain as host, because an address has no SRV records':
    'eine Adresse hat keine SRV-Einträge; als host eine Domain angeben',
  'TLS needs tls_port of the network': 'TLS braucht tls_port des Netzwerks',
  'must be true with TURN, which relays to the local address':
    'TURN leitet an die lokale Adresse weiter; sie muss bleiben',
  'must be the name of a network interface, such as ppp0':
    'muss der Name einer Netzwerkschnittstelle sein, etwa ppp0',
  'is missing: it is needed to determine the external address':
    'fehlt: er soll nach der externen Adresse gefragt werden',
  'TURN over TLS needs turn_port too': 'TURN über TLS braucht auch turn_port',
  'port {0} is also used by {1}': 'Port {0} wird auch von {1} benutzt',
  'matches the same calls as inbound route {0}': 'der eingehende Weg {0} gilt für dieselben Anrufe',
  'cannot be distinguished from trunk {0} of inbound route {1}, which has the same host and does not register either; name different numbers':
    'ist nicht von der Amtsleitung {0} des eingehenden Wegs {1} zu unterscheiden, die denselben Host hat und sich ebenfalls nicht anmeldet; verschiedene Nummern angeben',
  'must not strip more digits than the shortest pattern has': 'mehr Ziffern, als das kürzeste Muster hat',
  'must leave at least one digit of the shortest number': 'von der kürzesten Nummer bliebe nichts übrig',
  '{0} is {1}, so calls to it would not reach this emergency route':
    '{0} ist {1}; das würde verhindern, dass sie im Notfall angerufen werden kann',
  'all routes together have {0} patterns, more than {1}': 'alle Wege zusammen haben {0} Muster, mehr als {1}',
  'more than {0} routes overlap in their numbers':
    'mehr als {0} Wege gelten für die Nummern der jeweils anderen',
  'leads back to itself through time conditions only': 'es führt in einen Kreis aus lauter Zeitbedingungen',
  'is reserved by the engine; choose another name': 'die Anlage benutzt diesen Namen für etwas anderes',
  'the exchange has no such feature code': 'die Anlage hat keinen solchen Funktionscode',
  'there is no extension {0}': 'die Nebenstelle {0} gibt es nicht',
  '{0}: {1} (and {2} more)': '{0}: {1} (und {2} weitere)',
  'a site has at most {0} of {1}': 'von {1} kann es höchstens {0} geben',
  'must not occur twice': 'es ist zweimal da',
  'the {0} {1}': '{0} {1}',
  'the {0} "{1}" ({2})': '{0} „{1}“ ({2})',
  'it is used by {0}, in {1} and in {2} more places': 'benutzt von {0}, in {1} und an {2} weiteren Stellen',
  'it is used by {0}, in {1}': 'benutzt von {0}, in {1}',
  'an API key cannot change an administrator such as extension {0}':
    'kein API-Schlüssel ändert einen Administrator, und Nebenstelle {0} ist einer',
  'there is no {0}': '{0} gibt es nicht',
  'is {0} and cannot be renamed; create a new object':
    'es heißt {0} und kann nicht umbenannt werden: legen Sie ein neues an',
  '{0} was changed meanwhile': '{0} wurde inzwischen geändert',
  'is needed again, or null, because {0} changes: the kept password would be used at another address':
    'geben Sie es neu an oder null: {0} ändert sich, und ein behaltenes Passwort würde an einer anderen Adresse benutzt',
  'there is a {0} already': '{0} gibt es schon',
  'there is no enabled trunk {0}': 'eine eingeschaltete Amtsleitung {0} gibt es nicht',
  'there is no active extension {0}': 'eine aktive Nebenstelle {0} gibt es nicht',
  'body: expected an object': 'body: erwartet wird ein Objekt',
  'the sounds in use cannot be determined now; try again later':
    'welche Töne benutzt werden, lässt sich gerade nicht sagen',
  'the audio must last at most {0} seconds for this kind of sound':
    'dauert länger als die {0} Sekunden, die ein Ton dieser Art dauern darf',
  'the audio has samples outside the valid range': 'enthält Abtastwerte, die kein Ton sind',
  'the file has no audio': 'enthält keinen Ton',
  'FLAC: the header is truncated': 'FLAC: der Kopf ist abgeschnitten',
  'FLAC: {0}': 'FLAC: {0}',
  'FLAC: the sample rate or number of channels changes within the file':
    'FLAC: Abtastrate oder Kanäle wechseln unterwegs',
  'FLAC: the header declares {0} samples, the file has {1}: it is truncated or damaged':
    'FLAC: kündigt {0} Abtastwerte an und hat {1}: abgeschnitten oder kaputt',
  'MP3: the tag is damaged': 'MP3: die Kennzeichnung ist kaputt',
  'MP3: no audio follows the tags': 'MP3: nach den Kennzeichnungen kommt kein Ton',
  'MP3: the data at byte {0} is not an audio frame': 'MP3: die Daten bei Byte {0} sind kein Audio-Frame',
  'MP3: the sample rate or number of channels changes within the file':
    'MP3: Abtastrate oder Kanäle wechseln unterwegs',
  'MP3: the file ends within a frame': 'MP3: mitten in einem Frame abgeschnitten',
  'MP3: the file has too little audio': 'MP3: enthält kaum Ton',
  'MP3: {0}': 'MP3: {0}',
  'Ogg: {0}': 'Ogg: {0}',
  'Ogg: the file contains neither Opus nor Vorbis': 'Ogg: enthält weder Opus noch Vorbis',
  'Opus: the audio must be mono or stereo': 'Opus: muss mono oder stereo sein',
  'Opus: a packet is too large': 'Opus: ein Paket ist zu groß',
  'Opus: {0}': 'Opus: {0}',
  'Opus: the file has less audio than its header declares': 'Opus: enthält weniger Ton, als angekündigt ist',
  'Vorbis: {0}': 'Vorbis: {0}',
  'the file is empty': 'es ist leer',
  'the file must be WAV, MP3, FLAC, Ogg Opus or Ogg Vorbis':
    'weder WAV noch MP3, FLAC, Ogg Opus oder Ogg Vorbis',
  '{0}: the sample rate {1} must be from {2} to {3}': '{0}: Abtastrate {1}; sie muss von {2} bis {3} reichen',
  '{0}: {1} channels; the audio must be mono or stereo': '{0}: {1} Kanäle; es muss mono oder stereo sein',
  'WAV: the format chunk is truncated': 'WAV: die Formatangabe ist abgeschnitten',
  'WAV: unknown audio format': 'WAV: eine unbekannte Art Ton',
  'the RIFF file contains no WAVE': 'eine RIFF-Datei, aber ohne WAVE darin',
  'WAV: the file ends before the audio data': 'WAV: endet, bevor der Ton beginnt',
  'WAV: the audio data must begin within {0} chunks':
    'WAV: der Ton beginnt nicht innerhalb von {0} Abschnitten',
  'WAV: the header declares {0} bytes, the file has {1}: it is truncated or a stream':
    'WAV: kündigt {0} Bytes an, wo {1} übrig sind: abgeschnitten oder ein Stream',
  'WAV: the file has two format chunks': 'WAV: hat zwei Formatangaben',
  'WAV: the audio data is before the format chunk': 'WAV: der Ton kommt vor der Formatangabe',
  'WAV: audio format {0} with {1} bits is not supported; use PCM, float or G.711':
    'WAV: Ton der Art {0} mit {1} Bit wird hier nicht gelesen; PCM, Fließkomma und G.711 schon',
  'WAV: the format chunk is inconsistent': 'WAV: die Formatangabe widerspricht sich',
  'WAV: the file ends within a sample': 'WAV: endet mitten in einem Abtastwert',
  'all sounds together may take {0} bytes; delete one, or raise OFFHOOK_SOUND_MEGABYTES':
    'alle Töne zusammen dürfen {0} Bytes haben; löschen Sie einen oder erhöhen Sie OFFHOOK_SOUND_MEGABYTES',
  'the disk does not have enough free space': 'auf der Platte ist zu wenig Platz übrig',
  'the speech program could not be downloaded: {0}': 'das Sprachprogramm konnte nicht geladen werden: {0}',
  'there is no voice for the language {0}': 'für die Sprache {0} gibt es keine Stimme',
  'the spoken text is too long; shorten it': 'der Text braucht zu lange zum Sprechen',
  'the speech program failed': 'das Sprachprogramm ist gescheitert',
  'the simulator does not speak texts': 'der Simulator spricht keine Texte',
  'must be a text that can be spoken': 'muss ein Text sein, der sich sprechen lässt',
  'must not contain control characters other than line breaks and tabs':
    'darf außer Zeilenumbrüchen und Tabulatoren keine Steuerzeichen enthalten',
  'too many sounds are being uploaded; try again later': 'zu viele Töne werden gerade entgegengenommen',
  'too many of your sounds are being converted; send this one after they are done':
    'zu viele Ihrer Töne werden gerade entgegengenommen; senden Sie diesen, wenn sie fertig sind',
  'the draft or a version of the configuration uses this sound':
    'der Entwurf oder eine Version der Konfiguration benutzt ihn',
  extension: 'Nebenstelle',
  queue: 'Warteschlange',
  'ring group': 'Rufgruppe',
  menu: 'Menü',
  'time condition': 'Zeitbedingung',
  holidays: 'Feiertage',
  conference: 'Konferenz',
  mailbox: 'Mailbox',
  'parking lot': 'Parkplatz',
  'music class': 'Wartemusik',
  prompt: 'Ansage',
  trunk: 'Amtsleitung',
  'inbound route': 'eingehender Weg',
  'outbound route': 'ausgehender Weg',
  'call limit': 'Anruflimit',
  phone: 'Telefon',
  'this site has one node; other engines need OFFHOOK_NODE and PostgreSQL':
    'diese Anlage hat einen Knoten; weitere Engines brauchen OFFHOOK_NODE und PostgreSQL',
  'must not be the leading node, which has the objects without an engine of their own':
    'dieser Knoten führt: hier ist, was keine eigene Engine hat',
  'a site has at most {0} engines beside that of the leading node':
    'eine Anlage hat höchstens {0} Engines neben der des führenden Knotens',
  '{0} {1} has this address': '{0} {1} hat diese Adresse',
  'must be a desk phone to use another engine': 'an einer anderen Engine können nur Tischtelefone sein',
  'must be homed at the engine of the queue': 'die Engine ist eine andere als die der Warteschlange',
  'must be homed at the same engine as the other lines of the phone':
    'ein Telefon meldet sich an einer Engine an, und diese Leitung hat eine andere',
  'can only be switched by phones at the engine of the leading node':
    'nur Telefone an der Engine des führenden Knotens können sie umschalten',
  'must be 1 to 16 lower-case letters and digits that begin with a letter':
    'muss aus 1 bis 16 Kleinbuchstaben und Ziffern bestehen und mit einem Buchstaben beginnen',
  engine: 'Engine',
  'phone layout': 'Tastenbelegung',
  'phone {0} has this token': 'das Telefon {0} hat dieses Token',
  'must be empty for a shared phone, where people sign in':
    'ein gemeinsames Telefon hat keine Nebenstellen: Personen melden sich daran an',
  'needs at least one extension, or `shared`': 'es braucht mindestens eine oder muss gemeinsam genutzt sein',
  'needs a number to be switched by phone': 'es braucht eine Nummer, um per Telefon umgeschaltet zu werden',
  'no time condition of this name can be switched by phone':
    'keine Zeitbedingung dieses Namens lässt sich per Telefon umschalten',
  'the voice service returned no usable audio': 'der Sprachdienst hat ohne vollständigen Ton geantwortet',
  'the file of OFFHOOK_SPEECH cannot be used: {0}':
    'die Datei von OFFHOOK_SPEECH ist nicht zu verwenden: {0}',
  'the voice service did not answer: {0}': 'der Sprachdienst hat nicht geantwortet: {0}',
  'the voice service refused the text with status {0}':
    'der Sprachdienst hat den Text mit Status {0} abgelehnt',
  'the field {0} in the file of OFFHOOK_SPEECH cannot be used':
    'das Feld {0} in der Datei von OFFHOOK_SPEECH ist nicht zu verwenden',
  'it is not JSON': 'kein JSON',
  'is generated; send null for a new one': 'es wird erzeugt; null macht ein neues',
  'this network is {0} already': 'dieses Netz ist schon {0}',
  'phone {0} has this MAC address': 'das Telefon {0} hat diese MAC-Adresse',
  'no templates exist for this vendor': 'für diesen Hersteller gibt es keine Vorlagen',
  'no parking lot has this slot': 'kein Parkplatz hat diesen Stellplatz',
  'feature code': 'Funktionscode',
  'pause reason': 'Pausengrund',
  service: 'Dienst',
  settings: 'Einstellungen',
  network: 'Netzwerk',
  'must be the name of a prompt': 'muss der Name einer Ansage sein',
  'the archive has a path that is not safe: {0}': 'das Archiv hat einen unsicheren Pfad: {0}',
  'the archive must unpack to at most {0} bytes': 'das Archiv enthält ausgepackt mehr als {0} Bytes',
  'the archive must have at most {0} entries': 'das Archiv hat mehr als {0} Einträge',
  '{0} must have at most {1} bytes': '{0} ist größer als {1} Bytes',
  'the archive has a link: {0}': 'das Archiv enthält einen Verweis: {0}',
  'the file must be a zip, tar or tar.gz archive': 'kein Archiv vom Typ zip, tar oder tar.gz',
  'the archive is damaged': 'das Archiv ist beschädigt',
  'no prompts of this language are uploaded': 'von dieser Sprache sind keine Ansagen hochgeladen',
  'the draft or the applied configuration uses this language':
    'der Entwurf oder die übernommene Konfiguration verwendet diese Sprache',
  'the archive has no prompts': 'das Archiv enthält keine Ansagen',
  'language: the engine has its own prompts for this language':
    'language: die Anlage hat für diese Sprache eigene Ansagen',
  'the prompts of at most {0} languages can be uploaded; delete one':
    'es sind schon {0} Sprachen hochgeladen',
  '{0} prompts are heard in English: {1}': '{0} Ansagen sind auf Englisch zu hören: {1}',
  'there are no sounds for this language; upload them first':
    'für diese Sprache gibt es keine Ansagen; laden Sie sie zuerst hoch',
  'the package of its sounds holds none': 'das Paket mit den Ansagen enthält keine',
  'its sounds could not be downloaded: {0}': 'die Ansagen konnten nicht heruntergeladen werden: {0}',
  '{0}: must be GSM of 8 kHz': '{0}: kein GSM mit 8 kHz',
  '{0}: must be WAV of 8 or 16 kHz, mono, 16 bit': '{0}: kein WAV mit 8 oder 16 kHz, mono, 16 Bit',
};
