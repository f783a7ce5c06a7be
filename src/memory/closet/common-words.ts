/**
 * English words that are not names, although they may begin a sentence with a capital. Source: MemPalace 3.3.6,
 * `data/coca_content_words.json` (MIT, Copyright (c) 2026 MemPalace Contributors).
 */

export const COMMON_WORDS: ReadonlySet<string> = new Set(
  `
able about above across act action actually add address after again age agency ago agree ahead air all allow almost
alone along already also although always among amount another answer anti any anything anyway appear apply approach
area around art article ask audit available average away back background backup backups bad base basic be because
become before begin behind believe below best better between big bigger black block blocks blue body book both
bottom boy branch break bring broad brutal brutally budget build building built business but buy call came can
cannot card care career case cases category cause cell center central century certain certainly chain chance change
changes channel chat check child children choice choose claim class clean clear clearly click client close code
coder coding color column combine come command comment common community company compare complete concept concern
concerns condition configure confirm consider contain container content context continue contract control convert
core corner correct cost could count country couple course cover create current currently cut data date day days
deal debug decade decide decision deep default define delete deliver demand deny depend deploy describe design
detail details develop did die difference different difficult direct directory discover discuss discussion do doc
docs does doing domain done door down draft drawer drop due during each early easy edge edit education effect effort
either else email empty end energy engine english enjoy enough enter entire environment error errors establish even
evening event every everyone everything exactly example examples except exist expand expect experience explain
extract eye face fact facts fail failure fall false family fast father feature feed feel field fight figure file
files fill final finally find fine finish first fix fixed flag flags flat flow focus folder follow food foot for
force form format forward found four free friend from front full function future game general generate get girl give
given global go goal going gone good got government great green ground group grow growth guess guide had half hand
handle happen happy hard has have head header health hear heart heavy held help her here high him his history hit
hold home hook hope hot hour house how however huge human hundred idea identify if image imagine impact implement
important improve include increase index indicate industry info information init input inside install instead
interest internal introduce investigate investment involve issue issues it item items its itself job join just keep
kept key kid kill kind knew know knowledge known label language large last late later law lawyer lay lead leader
learn least leave led left legal less let letter level lie life light like likely line link list listen little live
load local log logs long longer look loop lose loss lost lot love low machine made main major make man manage many
map mar market match matter may maybe me mean meant media meet meeting member memory merge message method middle
might million mind minute mission model modify moment money month more morning most mother move movement much music
must my myself name names national natural near need needed needs neither network never new news next nice night no
none nor north not note notes nothing notice now number object obvious obviously of off offer office official often
oh ok okay old on once one only open operation opinion opportunity option options or order organization original
other others our out outside over own page pages pair paper parent part particular particularly partner party pass
passed past patch path pattern pay peace people per performance perhaps period person personal phase phases phone
physical pick piece place plan planning play please point police policy political poor popular population port
position positive possible post power pre prepare present president press pretty prevent previous previously price
primary print private probably problem problems process produce product professional program project promise
property protect prove provide public pull purpose push put question quick quickly quite quote race raise range
rather reach read ready real reality realize really reason receive recent recently recognize record red reduce ref
reference refresh region release remain remember remove render repeat replace reply report represent request require
research resource respond response rest result results return review rich right rise risk road role room rooms rule
rules run running safe said same save saw say scale scene school science scope score screen scroll sea search season
second section see seek seem seen select self sell send sense sent serious serve service session set settle seven
several shake shape share she ship shoot short should show side sign signal significant similar simple simply since
sing single sister sit site situation six size skill skin skip sky sleep slip slot slow small smile snippet so
social society soft software soldier solid solution solve some somebody somehow someone something sometimes
somewhere son song soon sort sound source space speak special specific spend spent split sport spread stable stack
stage stand standard star start state statement station stay step still stock stop store story stream street strict
strong structure student study stuff subject success such sudden suggest summary support suppose sure surface switch
system table take talk tall target task tax teach team tell ten tend term test tests text than thank that the their
them themselves then theory there these they thing things think third this those though thought thousand thread
three through throw thus ticket tier time title to today together too tool top topic total touch toward tower town
track trade train transfer treat tree trial trigger trip trouble true truly trust truth try turn tweak two type
under understand unit until up update upload upon us usage use used user usually valid value various verb verbose
verify version very via view visit voice vote wait walk wall want war warn watch water way we weak wear web week
weight well west what whatever when where whether which while white who whole whose why wide wife will win wind
window wing wire wish with within without woman word work worker world worry would write writer wrong yard yeah year
yes yet you young your yours yourself zero zone
`
    .trim()
    .split(/\s+/),
);
