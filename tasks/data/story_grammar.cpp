// The grammar of the built-in stories.
#include <sstream>

#include "tasks/data/stories.h"
#include "tensor/base/error.h"

namespace pg {

namespace {

// Cells of a row are separated by '|'; the first row names the columns.
StoryTable table(const std::vector<std::string>& lines) {
  StoryTable result;
  for (size_t i = 0; i < lines.size(); ++i) {
    std::vector<std::string> cells;
    std::istringstream in(lines[i]);
    for (std::string cell; std::getline(in, cell, '|');) cells.push_back(cell);
    check(i == 0 || cells.size() == result.columns.size(), "story grammar: row \"{}\" needs {} cells", lines[i],
          result.columns.size());
    if (i == 0)
      result.columns = cells;
    else
      result.rows.push_back(cells);
  }
  return result;
}

std::map<std::string, StoryTable> make_tables() {
  std::map<std::string, StoryTable> t;
  std::vector<std::string> people = {"name|he|He|him|his|His"};
  for (const char* name :
       {"Mia", "Ada", "Nora", "Lina", "Rosa", "Greta", "Ivy", "Zoe", "Hanna", "Vera", "Juno", "Wanda"})
    people.push_back(std::string(name) + "|she|She|her|her|Her");
  for (const char* name :
       {"Tom", "Ben", "Otto", "Emil", "Karl", "Felix", "Hugo", "Paul", "Rufus", "Simon", "Theo", "Jakob"})
    people.push_back(std::string(name) + "|he|He|him|his|His");
  t["person"] = table(people);
  t["job"] = table({"name", "baker", "miller", "weaver", "fisher", "gardener", "shepherd", "potter", "carpenter",
                    "tailor", "beekeeper", "painter", "blacksmith", "teacher", "cook", "sailor", "clockmaker"});
  t["place"] =
      table({"name", "a village by the sea", "a town on a hill", "a hut in the forest", "an old mill",
             "a tower near the lake", "a house under an oak", "the valley of apples", "an island of birds",
             "the street of lamps", "a farm behind the hills", "a castle without a king", "a cave above the bay",
             "a tent in the desert", "the city of bridges", "a cottage in the snow", "a boat on the slow river"});
  t["animal"] = table({"name", "fox", "owl", "crow", "hare", "badger", "otter", "heron", "goat", "cat", "wolf", "mouse",
                       "toad", "bear", "goose", "hedgehog", "donkey"});
  t["colour"] = table({"name", "red", "blue", "green", "yellow", "white", "black", "brown", "golden", "silver",
                       "purple", "grey", "pink"});
  t["thing"] = table({"name",   "kite",  "lantern", "drum", "flute",  "compass",     "mirror", "blanket", "basket",
                      "ring",   "clock", "map",     "hat",  "coat",   "feather",     "bottle", "whistle", "teapot",
                      "button", "book",  "key",     "bell", "candle", "wheelbarrow", "saddle"});
  t["spot"] = table({"name", "under the bed", "behind the stove", "in the barn", "on the roof", "at the market",
                     "beside the well", "in the tall grass", "inside the hollow tree", "below the stairs",
                     "between the rocks", "near the beehives", "under the bridge", "in the boathouse",
                     "behind the church", "on top of the haystack", "in the apple cellar"});
  t["food"] = table({"name", "bread", "honey cake", "pea soup", "plum pie", "roasted nuts", "goat cheese", "carrots",
                     "wild berries", "potatoes", "pancakes", "dried fish", "pumpkin", "mushrooms", "onions", "cabbage",
                     "noodles"});
  t["landmark"] = table({"name", "the broken tower", "the three birches", "the stone lion", "the windmill",
                         "the empty fountain", "the singing reeds", "the crooked gate", "the old lighthouse",
                         "the blue door", "the fallen giant", "the school", "the frozen pond", "the wolf rock",
                         "the king's grave", "the rose garden", "the ferry house"});
  t["trouble"] = table(
      {"what|need|done", "the bridge was broken|a strong rope|tied the planks together",
       "the well was frozen|a heavy hammer|broke the ice", "the lamp had gone out|a dry match|lit the lamp again",
       "the roof was leaking|a bucket of tar|closed the holes", "the gate was stuck|a jar of oil|made the hinges turn",
       "the boat was full of water|a tin cup|emptied the boat",
       "the cart had lost a wheel|an iron pin|put the wheel back",
       "the church bell had fallen|a long ladder|hung the bell up again",
       "the oven was cold|a sack of coal|heated the oven", "the goats had run away|a sweet apple|led the goats home",
       "the mill had stopped|a leather belt|set the stones turning",
       "the path was covered with snow|a wooden shovel|cleared the path",
       "the sail was torn|a thick needle|sewed the sail",
       "the bees had left the hive|a white sheet|carried the bees home",
       "the door was locked|a bent nail|opened the lock",
       "the chimney was full of soot|a long broom|swept the chimney"});
  t["riddle"] =
      table({"question|answer", "What has teeth but cannot bite?|a comb", "What has hands but cannot clap?|a clock",
             "What has one eye but cannot see?|a needle", "What has a neck but no head?|a bottle",
             "What runs but has no feet?|a river", "What gets wetter while it dries?|a towel",
             "What has keys but opens no door?|a piano", "What has leaves but is no tree?|a book",
             "What goes up when the rain comes down?|an umbrella", "What has ears but cannot hear?|a field of corn",
             "What fills a room and takes no space?|light", "What breaks when you say its name?|silence",
             "What grows when you take from it?|a hole", "What follows you all day and leaves at night?|a shadow",
             "What has legs but cannot walk?|a table", "What answers though nobody asked it?|an echo"});
  return t;
}

std::map<std::string, std::vector<std::string>> make_rules() {
  std::map<std::string, std::vector<std::string>> r;
  // ---- shared by the plots
  r["opening"] = {"There once was a {job.name} named {hero.name} who lived in {place.name}.",
                  "In {place.name} lived a {job.name} whose name was {hero.name}.",
                  "Long ago, a {job.name} called {hero.name} had a home in {place.name}.",
                  "{hero.name} was a {job.name} and lived in {place.name}.",
                  "This is the story of {hero.name}, a {job.name} from {place.name}."};
  r["mood"] = {"{hero.He} was {virtue} and a little {fault}.", "Nobody there was more {virtue}, or more {fault}.",
               "Everybody liked {hero.him}, because {hero.he} {habit}.",
               "People said that {hero.he} {habit}, and it was true."};
  r["virtue"] = {"brave", "kind", "patient", "honest", "cheerful", "careful", "generous", "curious"};
  r["fault"] = {"vain", "lazy", "stubborn", "shy", "forgetful", "proud", "noisy", "clumsy"};
  r["habit"] = {"sang while working",
                "never told a lie",
                "laughed at every joke",
                "talked to the birds",
                "knew every star by name",
                "slept with open windows",
                "could whistle two notes at once",
                "gave away half of everything"};
  r["when"] = {"One morning in spring",    "On a cold winter night", "On the first day of summer",
               "One windy autumn day",     "Just before sunset",     "On the day of the fair",
               "After seven days of rain", "When the moon was full"};
  r["creature"] = {"clever", "lazy", "tiny", "hungry", "friendly", "sleepy", "grumpy", "wise"};
  r["ending"] = {"{thanks} {moral}", "{evening} {moral}", "{thanks} {evening}"};
  r["thanks"] = {"\"Thank you,\" said {hero.name}. \"{promise}\"",
                 "{hero.name} bowed to {friend.name} and said: \"{promise}\""};
  r["promise"] = {"I will never forget this.", "Next time I shall help you.", "You are a true friend.",
                  "Tomorrow I will bake you a cake.", "Now I can sleep again."};
  r["evening"] = {"That evening they {pastime} until the fire went out.",
                  "{friend.name} stayed, and they {pastime} until midnight.", "They went home together and {pastime}."};
  r["pastime"] = {"danced", "played cards", "told stories", "counted the stars", "sang old songs", "drank mint tea"};
  r["moral"] = {"And {hero.name} was {virtue} ever after.", "Since then {hero.name} has been less {fault}.",
                "So it pays to be {virtue}.", "And that is all I know about it."};
  // ---- plot: something is broken, and the right tool mends it
  r["plot_fix"] = {"{opening} {mood}\n{when}, {hero.he} saw that {trouble.what}.\n{need}\n{lend}\n{mend} {ending}\n\n"};
  r["need"] = {"\"Oh no,\" said {hero.name}. \"How can I help without {trouble.need}?\"",
               "{hero.He} tried it with bare hands, but that was no use. \"If only I had {trouble.need}!\"",
               "{hero.He} sat down on a stone to think. \"What I need is {trouble.need},\" {hero.he} said at last."};
  r["lend"] = {"{friend.name} came by and heard it. \"There is one {spot.name}. Take it!\"",
               "So {hero.he} asked {friend.name}, who found one {spot.name}.",
               "{friend.name} remembered seeing one {spot.name}, and ran to fetch it."};
  r["mend"] = {"Together they {trouble.done}.", "With it {hero.name} {trouble.done}, and everybody cheered.",
               "Before the clock struck ten, {hero.he} {trouble.done}."};
  // ---- plot: something is lost, and found in the third place
  r["plot_lost"] = {
      "{opening} {mood}\n{treasure}\n{when}, the {thing.name} was gone.\n{hero.He} looked {spot.name} and found only "
      "{junk}. {hero.He} looked {spot2.name} and found {junk}.\n{asked} \"Look {spot3.name}!\"\nAnd there it was. "
      "{thief} {ending}\n\n"};
  r["treasure"] = {
      "Nothing was dearer to {hero.him} than a {colour.name} {thing.name}, a gift from {hero.his} {giver}.",
      "{hero.His} {giver} had given {hero.him} a {colour.name} {thing.name}."};
  r["giver"] = {"grandmother", "uncle", "sister", "brother", "teacher", "old captain"};
  r["junk"] = {"dust", "three feathers", "a sleeping snail", "an old shoe", "cold ashes", "a broken plate"};
  r["asked"] = {"\"Have you seen my {colour.name} {thing.name}?\" {hero.he} asked. {friend.name} nodded.",
                "\"My {colour.name} {thing.name}!\" cried {hero.name}. \"Do not cry,\" said {friend.name}."};
  r["thief"] = {"A {creature} {animal.name} had taken it to {purpose}.",
                "A {creature} {animal.name} was using it to {purpose}."};
  r["purpose"] = {"build a nest",         "keep the rain out", "impress the neighbours",
                  "feed the little ones", "frighten the dogs", "play a joke"};
  // ---- plot: a guard asks a riddle
  r["plot_riddle"] = {
      "{opening} {mood}\n{when}, {hero.he} came to a {barrier}. A {creature} {animal.name} sat there and let nobody "
      "pass.\n\"Answer me this,\" said the {animal.name}. \"{riddle.question}\"\n\"Is it {wrong.answer}?\" asked "
      "{hero.name}. {no}\n{whisper}\n\"It is {riddle.answer}!\" cried {hero.name}, and the {animal.name} {yielded}. "
      "{ending}\n\n"};
  r["barrier"] = {"bridge", "gate", "narrow path", "cave", "staircase", "wall with one door"};
  r["no"] = {"The {animal.name} shook its head.", "\"Wrong,\" said the {animal.name}, \"but you may try again.\"",
             "The {animal.name} laughed so loudly that the leaves fell."};
  r["whisper"] = {"{friend.name}, who stood close by, whispered: \"Say that it is {riddle.answer}.\"",
                  "Then {hero.he} remembered what {friend.name} always said about {riddle.answer}."};
  r["yielded"] = {"stepped aside", "vanished in smoke", "opened the way", "bowed very low", "fell asleep at once"};
  // ---- plot: things are traded for one another
  r["plot_trade"] = {
      "{opening} {mood}\n{hero.He} owned nothing but a {thing.name}.\n{when}, {hero.he} met a {creature} "
      "{animal.name}. "
      "\"Give me your {thing.name},\" it said, \"and take my {colour.name} {thing2.name}.\" {agreed}\nThen {hero.he} "
      "met a {creature} {animal2.name}. \"{wish} a {colour.name} {thing2.name},\" it said. \"Will you take a "
      "{thing3.name} for it?\" {agreed}\n{gift}\nSo a {thing.name} became a {thing2.name}, the {thing2.name} became a "
      "{thing3.name}, and the {thing3.name} made a friend. {ending}\n\n"};
  r["agreed"] = {"{hero.name} agreed.", "They shook hands on it.", "\"Why not?\" said {hero.name}."};
  r["wish"] = {"I have always wanted", "My mother needs", "How I would love", "My house is empty without"};
  r["gift"] = {"At home {friend.name} was waiting, and {hero.name} gave away the {thing3.name} as a present.",
               "\"That {thing3.name} is just what I need,\" said {friend.name}, and {hero.name} handed it over."};
  // ---- plot: everybody brings something for the pot
  r["plot_feast"] = {
      "{opening} {mood}\n{when}, there was nothing to eat in {place.name} but hot water. \"Let us all share,\" said "
      "{hero.name}.\n{friend.name} {brought} {food.name}. A {creature} {animal.name} {brought} {food2.name}. "
      "{hero.name} {brought} {food3.name}.\n{cooked}\n\"{taste}\" said {friend.name}. {ending}\n\n"};
  r["brought"] = {"brought", "fetched", "found some", "gave away the last"};
  r["cooked"] = {"So they cooked {food.name} with {food2.name} and {food3.name}.",
                 "Into the pot went {food.name}, {food2.name} and {food3.name}."};
  r["taste"] = {"Never have I eaten so well!", "It tastes like my childhood!", "It only needs a little salt!",
                "Is there any more?", "Even a king would like it!"};
  // ---- plot: a journey there and back
  r["plot_journey"] = {
      "{opening} {mood}\n{when}, {hero.he} set out to visit {friend.name}. The way led past {landmark.name}, then past "
      "{landmark2.name}, and at last past {landmark3.name}.\n{arrived}\n\"{how}\" asked {friend.name}. \"{fine}\" said "
      "{hero.name}.\nGoing home, {hero.he} passed {landmark3.name}, then {landmark2.name}, and at last "
      "{landmark.name}. "
      "{ending}\n\n"};
  r["arrived"] = {"{friend.name} was {doing} {spot.name} and had {food.name} ready.",
                  "{hero.He} found {friend.name} {spot.name}, {doing}, with {food.name} for two."};
  r["doing"] = {"waiting", "sleeping", "reading", "chopping wood", "mending a net", "feeding the geese"};
  r["how"] = {"Was the road long?", "Were you not afraid?", "Did the wolves howl?", "How are your bees?"};
  r["fine"] = {"Not as long as last year,", "Only a little,", "Let us eat first,", "I sang all the way,"};
  return r;
}

StoryGrammar make_grammar() {
  StoryGrammar g;
  g.tables = make_tables();
  g.rules = make_rules();
  g.variables = {{"hero", "person"},        {"friend", "person"},     {"job", "job"},
                 {"place", "place"},        {"animal", "animal"},     {"animal2", "animal"},
                 {"colour", "colour"},      {"thing", "thing"},       {"thing2", "thing"},
                 {"thing3", "thing"},       {"spot", "spot"},         {"spot2", "spot"},
                 {"spot3", "spot"},         {"food", "food"},         {"food2", "food"},
                 {"food3", "food"},         {"landmark", "landmark"}, {"landmark2", "landmark"},
                 {"landmark3", "landmark"}, {"trouble", "trouble"},   {"riddle", "riddle"},
                 {"wrong", "riddle"}};
  g.plots = {"plot_fix", "plot_lost", "plot_riddle", "plot_trade", "plot_feast", "plot_journey"};
  return g;
}

}  // namespace

const StoryGrammar& story_grammar() {
  static const StoryGrammar grammar = make_grammar();
  return grammar;
}

}  // namespace pg
