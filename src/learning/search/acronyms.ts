/** Adds the meanings of a question's well-known acronyms (outcome-memory.md 3.9). Pure. */

const MEANINGS: Readonly<Record<string, string>> = Object.fromEntries(
  `api=application programming interface|apis=application programming interfaces|sdk=software development kit
sdks=software development kits|ui=user interface|ux=user experience|db=database|sql=structured query language
html=hypertext markup language|css=cascading style sheets|js=javascript|ts=typescript|ml=machine learning
ai=artificial intelligence|llm=large language model|nlp=natural language processing|gpu=graphics processing unit
cpu=central processing unit|ram=random access memory|ssd=solid state drive|hdd=hard disk drive|os=operating system
ide=integrated development environment|cli=command line interface|gui=graphical user interface
ci=continuous integration|cd=continuous deployment|devops=development operations|qa=quality assurance
uat=user acceptance testing|mvp=minimum viable product|poc=proof of concept|saas=software as a service
paas=platform as a service|iaas=infrastructure as a service|iot=internet of things|vpn=virtual private network
dns=domain name system|http=hypertext transfer protocol|https=hypertext transfer protocol secure
ftp=file transfer protocol|ssh=secure shell|ssl=secure sockets layer|tls=transport layer security|jwt=json web token
oauth=open authorization|rest=representational state transfer|crud=create read update delete
orm=object relational mapping|json=javascript object notation|xml=extensible markup language
yaml=yaml ain't markup language|csv=comma separated values|pdf=portable document format|svg=scalable vector graphics
png=portable network graphics|jpg=jpeg image|gif=graphics interchange format|aws=amazon web services
gcp=google cloud platform|vm=virtual machine|k8s=kubernetes|npm=node package manager|pip=python package installer
git=version control|pr=pull request|mr=merge request|env=environment|prod=production|dev=development
repo=repository|config=configuration|auth=authentication|async=asynchronous|sync=synchronous
nyc=new york city|la=los angeles|sf=san francisco|dc=washington dc|uk=united kingdom|usa=united states of america
us=united states|nasa=national aeronautics and space administration|fbi=federal bureau of investigation
cia=central intelligence agency|fda=food and drug administration|cdc=centers for disease control
mit=massachusetts institute of technology|ucla=university of california los angeles|stanford=stanford university
harvard=harvard university|ceo=chief executive officer|cto=chief technology officer|cfo=chief financial officer
coo=chief operating officer|vp=vice president|hr=human resources|roi=return on investment
kpi=key performance indicator|okr=objectives and key results|b2b=business to business|b2c=business to consumer
erp=enterprise resource planning|crm=customer relationship management|eod=end of day|asap=as soon as possible
eta=estimated time of arrival|fyi=for your information|tbd=to be determined|pov=point of view|wfh=work from home`
    .split(/[|\n]/)
    .map((pair) => pair.split("=", 2) as [string, string]),
);

/** Everyday words that count as acronyms only in capitals. */
const EVERYDAY: ReadonlySet<string> = new Set(["us", "la", "rest", "pip", "git", "eta", "hr", "mit"]);

/** Returns the question on one line, followed by the meanings of its acronyms that the question does not contain yet. */
export function spelledOut(query: string): string {
  const text = query.replaceAll(/\s+/g, " ").trim();
  const lower = text.toLowerCase();
  const meanings = new Set<string>();
  for (const word of text.split(" ").map((one) => one.replaceAll(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, ""))) {
    const key = word.toLowerCase();
    const meaning = Object.hasOwn(MEANINGS, key) ? MEANINGS[key] : undefined;
    if (meaning === undefined || lower.includes(meaning)) continue;
    if (!EVERYDAY.has(key) || word === word.toUpperCase()) meanings.add(meaning);
  }
  return [text, ...meanings].join(" ");
}
